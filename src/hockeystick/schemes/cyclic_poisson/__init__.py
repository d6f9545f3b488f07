"""Cyclic Poisson sampling: groups take turns."""

from __future__ import annotations
