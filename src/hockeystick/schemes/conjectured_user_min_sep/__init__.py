"""b-min-sep sampling of users, with participation-based exclusion (a conjecture)."""

from __future__ import annotations
