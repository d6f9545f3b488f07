"""k-out-of-t random allocation."""

from __future__ import annotations
