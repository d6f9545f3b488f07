"""`conditional`: steps composed given bounded posterior odds."""

from __future__ import annotations
