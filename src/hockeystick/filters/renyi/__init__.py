"""The Renyi filter, its charges and its orders."""

from __future__ import annotations
