"""How a protected unit takes part in the steps of a run, as data that schemes offer to analyses.

The profile of one participation is what dominating pairs are built from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hockeystick.profile import Profile

__all__ = ["IndependentSampling", "Participant", "Renewal", "Step"]


class IndependentSampling(NamedTuple):
    """Independent Bernoulli draws without which nobody takes part.

    Attributes
    ----------
    rate
        The probability with which an example is sampled in a step, independently of all else.
    copies
        How many examples one protected unit has.
    exact
        Whether an example that is sampled does take part, until it has done so `most` times.
    most
        How often one takes part at most; None for no limit.
    """

    rate: float
    copies: int
    exact: bool
    most: int | None = None


class Renewal(NamedTuple):
    """b-min-sep participation of one example: a renewal process.

    Attributes
    ----------
    rate
        The probability with which an eligible example takes part.
    separation
        It is excluded for `separation` - 1 steps afterwards.
    warm_start
        Whether the process is stationary from the first step; otherwise all begin eligible.
    """

    rate: float
    separation: int
    warm_start: bool

    @property
    def most_copies(self) -> int:
        """A single example."""
        return 1


@dataclass(frozen=True)
class Participant:
    """How one protected unit takes part: again and again, with an exclusion period in between.

    Attributes
    ----------
    copy_probabilities
        The probabilities of 0, 1, ... of its examples in a step, while it is eligible.
    separation
        It is excluded for `separation` - 1 steps after each participation.
    steps
        The number of steps of the run.
    warm_up
        The number of rounds that are drawn before the first step.
    starts
        The probabilities of being eligible from step 0, 1, ..., separation - 1 on. None if draws
        during an exclusion period begin it anew, after the rounds of warm-up.
    """

    copy_probabilities: tuple[float, ...]
    separation: int
    steps: int
    warm_up: int = 0
    starts: tuple[float, ...] | None = None

    @property
    def most_copies(self) -> int:
        """In one step."""
        return len(self.copy_probabilities) - 1


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
