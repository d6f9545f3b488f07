"""Hockeystick, at its defaults: epsilon certified within 0.1 %, both directions."""

from __future__ import annotations

from ours import accounting, adaptive, draws, matrices  # beside harness.py

CASES = {**accounting.CASES, **matrices.CASES, **draws.CASES, **adaptive.CASES}
SWEEPS = {**accounting.SWEEPS, **matrices.SWEEPS, **draws.SWEEPS}
