"""Plan: what is run, and what is therefore accounted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.sampling import Indices, RandomSource, Sampling

__all__ = ["Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run: how batches are drawn, for how many steps, with which mechanism in each step.

    `mechanism` is the profile of one step on a batch that holds the example; by default it is the
    Gaussian mechanism, whose noise multiplier is given to `account` or found by `calibrate`.
    The same object draws the batches, so what is accounted is what is run.
    """

    sampling: Sampling
    steps: int
    mechanism: Profile | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sampling, Sampling):
            raise InvalidParameter(
                "sampling", "a sampling scheme such as Poisson(rate=0.01)", self.sampling
            )
        object.__setattr__(self, "steps", self.sampling.check_steps(self.steps))
        if self.mechanism is not None:
            if not isinstance(self.mechanism, Profile):
                raise InvalidParameter("mechanism", "a Profile or None", self.mechanism)
            if self.mechanism.bound != "upper":
                raise InvalidParameter("mechanism", "an upper bound", self.mechanism.bound)

    def batches(self, *, examples: int, rng: RandomSource = None) -> Iterator[Indices]:
        """The index arrays of the run's batches, one per step."""
        return self.sampling.batches(examples=examples, steps=self.steps, rng=rng)

    def describe(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        mechanism = "gaussian" if self.mechanism is None else repr(self.mechanism)
        return {
            "sampling": self.sampling.describe(),
            "steps": self.steps,
            "strategy": "identity",
            "mechanism": mechanism,
        }
