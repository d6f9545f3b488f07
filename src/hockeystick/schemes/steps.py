"""The profile of one participation: what dominating pairs are built from."""

from __future__ import annotations

from typing import Protocol

from hockeystick.profile import Profile

__all__ = ["Step"]


class Step(Protocol):
    """The profile of one participation, given the length of the strategy's columns it involves."""

    def __call__(self, length: float) -> Profile:
        """Of an example that is known to take part."""

    def sampled(self, length: float, rate: float) -> Profile:
        """Of one that takes part with probability `rate`."""
