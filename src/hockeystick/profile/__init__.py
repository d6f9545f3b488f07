"""Privacy profiles: expressions for pairs of distributions, and numbers from them."""

from __future__ import annotations

from hockeystick.profile.profile import DEFAULT_ACCURACY, Profile

__all__ = ["DEFAULT_ACCURACY", "Profile"]
