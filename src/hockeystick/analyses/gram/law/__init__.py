"""Laws of sums of lognormal variables along a chain, rounded in convex order."""

from __future__ import annotations
