"""Analyses of plans, one file each; a new one is a file and a line here."""

from __future__ import annotations

from hockeystick.analyses import gaussian, profile
from hockeystick.analyses.method import Method

__all__ = ["METHODS", "Method"]

# In the order in which they are shown.
METHODS: dict[str, Method] = {method.name: method for method in (gaussian.METHOD, profile.METHOD)}
