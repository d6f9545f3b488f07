"""The profile of one participation: what dominating pairs are built from."""

from __future__ import annotations

from typing import Protocol

from hockeystick.profile import Profile

__all__ = ["Step"]


class Step(Protocol):
    """The profile of one participation, given the length of the strategy's columns it involves.

    Examples
    --------
    >>> import hockeystick as hs
    >>> class Gaussian:
    ...     def __call__(self, length):
    ...         return hs.Profile.gaussian(noise_multiplier=2.0 / length)
    ...
    ...     def sampled(self, length, rate):
    ...         return self(length).subsample(rate)
    >>> step: hs.schemes.Step = Gaussian()
    >>> print(step.sampled(1.0, 0.1).epsilon(1e-3) < step(1.0).epsilon(1e-3))
    True
    """

    def __call__(self, length: float) -> Profile:
        """Of an example that is known to take part."""

    def sampled(self, length: float, rate: float) -> Profile:
        """Of one that takes part with probability `rate`."""
