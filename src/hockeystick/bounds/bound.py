"""What an analysis has to be able to answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hockeystick.profile import Profile
from hockeystick.profile.refinement import Bounds, Direction

__all__ = ["Source"]


class Source(Protocol):
    """A source of proven bounds on epsilon and delta of one run; a `Profile` is one.

    Other sources answer each question in the best way they know, which may differ from question to
    question; `as_profile` is a single pair that stands for them, valid everywhere and therefore
    fit for composition.
    """

    @property
    def has_formula(self) -> bool:
        """Whether numbers come from a closed form."""

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """Bounds on the largest epsilon(delta) over the directions."""

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """Bounds on the largest delta(epsilon) over the directions."""

    def as_profile(self) -> Profile:
        """A dominating pair of the run."""
