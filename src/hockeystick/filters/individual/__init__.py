"""Budgets for each example."""

from __future__ import annotations
