"""Asking for numbers: account, calibrate, compare."""

from __future__ import annotations
