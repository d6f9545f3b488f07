"""Privacy profiles: expressions for pairs of distributions, and numbers from them."""

from __future__ import annotations

from hockeystick.profile.values import DEFAULT_ACCURACY
from hockeystick.profile.profile import Profile

__all__ = ["DEFAULT_ACCURACY", "Profile"]
