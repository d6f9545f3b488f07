"""Products and averages of laws, rounded in convex order, and many-fold ones by squaring."""

from __future__ import annotations
