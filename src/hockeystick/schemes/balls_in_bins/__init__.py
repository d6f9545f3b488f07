"""Balls-in-bins: one bin for each example, drawn once for the whole run."""

from __future__ import annotations
