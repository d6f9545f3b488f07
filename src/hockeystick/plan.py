"""Plan: what is run, and what is therefore accounted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick._validate import choice, positive_integer, with_known_names
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import ADJACENCY
from hockeystick.profile import Profile
from hockeystick.randomness import Key, RandomSource
from hockeystick.schemes import Attribution, Indices, Missing, Sampling
from hockeystick.schemes.base import check_scheme
from hockeystick.strategies import NoiseStream, Strategy, identity
from hockeystick.strategies.matrix import leading_block
from hockeystick.strategies.pieces import Coordinates

__all__ = [
    "ADJACENCIES",
    "RELATIONS",
    "Accountable",
    "Part",
    "Plan",
    "require_accountable",
    "require_plan",
]


ADJACENCIES = ("add-remove", "replace-one")
"""Neighbouring relations: an example is there or contributes nothing; it is one or another one."""
RELATIONS = {"add-remove": ADJACENCY, "replace-one": "replace-one"}
"""What a guarantee and a statement call them."""


class Part(NamedTuple):
    """A plan, and its noise as a multiple of the noise multiplier that all parts have in common."""

    plan: Plan
    relative_noise: float


class Accountable(ABC):
    """What `account` and `calibrate` take: plans that are fixed in advance, accounted together."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The plans with their relative noise."""


@with_known_names
@dataclass(frozen=True, kw_only=True)
class Plan(Accountable):
    """A run: how batches are drawn, for how many steps, with which noise.

    The same object draws the batches and the noise, so what is accounted is what is run.

    Parameters
    ----------
    sampling
        How batches are drawn.
    steps
        The number of updates.
    strategy
        How the noise of different steps is correlated; independent by default.
    mechanism
        The profile of one step on a batch that holds the example. By default the Gaussian
        mechanism, whose noise multiplier is given to `account` or found by `calibrate`.
    adjacency
        "add-remove" (an example is there, or contributes nothing), or "replace-one": it is this
        one or another one, and both take part in the same steps.
    examples
        How many there are, at most: capped batches are accounted for a known number.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=3)
    >>> plan.describe()["sampling"]
    {'scheme': 'poisson', 'rate': 0.5}
    """

    sampling: Sampling
    steps: int
    strategy: Strategy = None  # type: ignore[assignment]  # the identity takes its place
    mechanism: Profile | None = None
    adjacency: str = "add-remove"
    examples: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sampling, Sampling):
            raise InvalidParameter(
                "sampling", "a sampling scheme such as Poisson(rate=0.01)", self.sampling
            )
        check_scheme(self.sampling)
        object.__setattr__(self, "steps", self.sampling.check_steps(self.steps))
        self._settle_strategy()
        choice("adjacency", self.adjacency, ADJACENCIES)
        if self.examples is not None:
            object.__setattr__(self, "examples", positive_integer("examples", self.examples))
        if self.mechanism is not None:
            if not isinstance(self.mechanism, Profile):
                raise InvalidParameter("mechanism", "a Profile or None", self.mechanism)
            if self.mechanism.bound != "upper":
                raise InvalidParameter("mechanism", "an upper bound", self.mechanism.bound)

    def _settle_strategy(self) -> None:
        given: object = self.strategy
        if given is None:
            object.__setattr__(self, "strategy", identity(self.steps))
        elif not isinstance(given, Strategy):
            raise InvalidParameter(
                "strategy", "a strategy such as strategies.bsr(steps, bands=16)", given
            )
        if self.strategy.steps != self.steps:
            allowed = f"a strategy for steps={self.steps}"
            raise InvalidParameter("strategy", allowed, self.strategy)
        if self.mechanism is not None and self.correlated:
            allowed = "the identity for a plan with a mechanism of its own"
            raise InvalidParameter("strategy", allowed, self.strategy)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The plan alone, as a sequence of one."""
        return (Part(self, 1.0),)

    @property
    def correlated(self) -> bool:
        """Whether the noise of different steps is correlated: C is not the identity matrix."""
        return not self.strategy.is_identity

    def batches(
        self, *, examples: int | Attribution, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """The index arrays of the run's batches, one per step.

        Parameters
        ----------
        examples
            Their number; a scheme that protects users also takes the graph of examples and users.
        rng
            A seed, a generator, "chacha", or None for a cryptographic seed.

        Returns
        -------
        Iterator[Indices]
            Sorted arrays of distinct indices.
        """
        if self.sampling.displaces and self.examples not in (None, examples):
            allowed = f"{self.examples}, for which the plan is accounted"
            raise InvalidParameter("examples", allowed, examples)
        return self.sampling.batches(examples=examples, steps=self.steps, rng=rng)

    def noise(
        self,
        dimension: int | tuple[int, ...],
        *,
        scale: float,
        dtype: npt.DTypeLike = np.float32,
        rng: RandomSource | Key = None,
        noise_memory: str = "rows",
        coordinates: Coordinates | None = None,
        arithmetic: str = "float",
        resolution: int | None = None,
    ) -> NoiseStream:
        """The run's noise C^-1 Z, one row per step.

        Parameters
        ----------
        dimension
            Of a row: a number, or the shape of an array.
        scale
            The noise multiplier times the clip norm.
        dtype
            Of the rows.
        rng
            As in `batches`, or a `Key` that several processes share.
        noise_memory
            "rows" remembers what the strategy needs, "replay" draws earlier rows of Z again: no
            memory, for strategies whose inverse has few bands.
        coordinates
            Ranges (start, stop) of the flattened vector that this stream holds; all by default.
        arithmetic
            "exact" gives integers in units of the stream's `lattice`, for plans that are their own
            `exact()`: added to sums on the lattice they are noise that is proven to the last bit.
        resolution
            With exact arithmetic: the lattice is scale / 2^resolution; 24 by default.

        Returns
        -------
        NoiseStream
            An iterator over the rows, with a state that can be saved.
        """
        return self.strategy.noise(
            dimension,
            scale=scale,
            dtype=dtype,
            rng=rng,
            noise_memory=noise_memory,
            coordinates=coordinates,
            arithmetic=arithmetic,
            resolution=resolution,
        )

    def prefix(self, steps: int) -> Plan:
        """The plan of the first steps: for a model that is released after them.

        Account it for a checkpoint whose number of steps was fixed before the run: it releases what
        the first rows of the run release (docs/stopping.md#checkpoints).

        Parameters
        ----------
        steps
            How many, at most those of the plan.

        Returns
        -------
        Plan
            With the leading block of the strategy, which is not optimised again.

        Raises
        ------
        UnsupportedPlan
            For schemes that do not say what their first steps are.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=10), steps=100)
        >>> plan.prefix(25).sampling
        RandomAllocation(picks=1, out_of=10, truncate=True)
        """
        strategy = leading_block(self.strategy, steps)
        if strategy.steps == self.steps:
            return self
        sampling = self.sampling.first_steps(strategy.steps)
        if isinstance(sampling, Missing):
            raise UnsupportedPlan(
                f"There is no plan of the first steps: {sampling.reason}.",
                page="docs/stopping.md#checkpoints",
            )
        return replace(self, sampling=sampling, steps=strategy.steps, strategy=strategy)

    def exact(self) -> Plan:
        """The plan that exact arithmetic runs: entries of C are multiples of 2^-20.

        For runs with `arithmetic="exact"`. Without correlated noise it is the plan itself, also
        where the inverse of C has few bands.

        Returns
        -------
        Plan
            With the strategy's `exact()`.

        Raises
        ------
        InvalidParameter
            If neither C nor its inverse is banded.

        Examples
        --------
        >>> import hockeystick as hs
        >>> strategy = hs.strategies.from_coefficients([1.0, 0.3], steps=5)
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=5, strategy=strategy)
        >>> (plan.exact().strategy.coefficients * 2**20).tolist()
        [1048576.0, 314573.0]
        """
        strategy = self.strategy.exact()
        return self if strategy is self.strategy else replace(self, strategy=strategy)

    def describe(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        mechanism = "gaussian" if self.mechanism is None else repr(self.mechanism)
        other = self.adjacency if self.adjacency != ADJACENCIES[0] else None
        unusual = {"examples": self.examples, "adjacency": other}
        return {
            "sampling": self.sampling.describe(),
            "steps": self.steps,
            "strategy": self.strategy.describe(),
            "mechanism": mechanism,
            **{name: value for name, value in unusual.items() if value is not None},
        }


def require_plan(plan: Any) -> None:
    """`InvalidParameter` if it is something else."""
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)


def require_accountable(run: Any) -> None:
    """`InvalidParameter` if it is neither a plan nor several of them."""
    if not isinstance(run, Accountable):
        raise InvalidParameter("plan", "a Plan or a Sequence", run)
