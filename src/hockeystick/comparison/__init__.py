"""Which scheme, which strategy, how many bands: everything that applies, side by side."""

from __future__ import annotations

from hockeystick.comparison.candidates import candidates
from hockeystick.comparison.compare import Compared, compare

__all__ = ["Compared", "candidates", "compare"]
