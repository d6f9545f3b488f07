"""The Levy filter: its design, its process and its charges."""

from __future__ import annotations
