"""Shuffled fixed-size batches, which are refused."""

from __future__ import annotations
