"""What an analysis returns: upper bounds on epsilon and delta, and their combinations."""

from __future__ import annotations
