"""b-min-sep sampling of users with several examples."""

from __future__ import annotations
