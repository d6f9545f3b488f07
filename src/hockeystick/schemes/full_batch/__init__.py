"""Every example in every step."""

from __future__ import annotations
