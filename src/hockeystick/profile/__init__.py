"""Privacy profiles: expressions for pairs of distributions, and numbers from them."""

from __future__ import annotations

from hockeystick.profile.profile import Profile
from hockeystick.profile.values import DEFAULT_ACCURACY

__all__ = ["DEFAULT_ACCURACY", "Profile"]
