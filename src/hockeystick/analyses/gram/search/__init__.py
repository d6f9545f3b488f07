"""The choice among majorants: every one of them is a valid bound."""

from __future__ import annotations
