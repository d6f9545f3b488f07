"""Cyclic Poisson sampling."""

from __future__ import annotations
