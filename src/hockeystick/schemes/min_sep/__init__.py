"""b-min-sep sampling."""

from __future__ import annotations
