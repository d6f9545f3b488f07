"""Which Gram matrices dominate which, and majorants of a given one."""

from __future__ import annotations
