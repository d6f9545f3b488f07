"""What a sampling scheme can offer to an analysis, and how it says that it has nothing to offer.

An analysis asks a scheme for what it needs (`plan.sampling.dominating_pair(plan)`, ...) and gets
one of these objects, or `Missing` with the reason. The questions are the methods of `Sampling`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from hockeystick.profile import Profile
from hockeystick.strategies import Strategy

if TYPE_CHECKING:
    from hockeystick.schemes.base import Sampling
    from hockeystick.schemes.simulation import Runner, Simulation

__all__ = [
    "Allocation",
    "Candidate",
    "DominatingPair",
    "Equivalent",
    "IndependentSampling",
    "Missing",
    "PairBuilder",
    "Renewal",
    "Run",
    "SampledRun",
    "Simulator",
    "Step",
    "offered",
    "reason_of",
]

T = TypeVar("T")


class Run(Protocol):
    """What a capability may depend on besides the scheme itself; every `Plan` is one."""

    @property
    def steps(self) -> int:
        """The number of updates."""

    @property
    def strategy(self) -> Strategy:
        """The matrix C that correlates the noise."""

    @property
    def mechanism(self) -> Profile | None:
        """The profile of one participation; None for the Gaussian mechanism."""

    @property
    def correlated(self) -> bool:
        """Whether C is not the identity matrix."""


class SampledRun(Run, Protocol):
    """A run together with its scheme; every `Plan` is one."""

    @property
    def sampling(self) -> Sampling:
        """How batches are drawn."""


@dataclass(frozen=True)
class Missing:
    """Why a scheme does not offer something, in one clause.

    `always` says that no run of the scheme has it; otherwise the reason is about this run.
    """

    reason: str
    always: bool = False


def reason_of(found: object) -> str | None:
    """The reason if something is missing, None if it is offered."""
    return found.reason if isinstance(found, Missing) else None


def offered(found: T | Missing) -> T:
    """What was offered, where the caller knows that it is not missing."""
    assert not isinstance(found, Missing), found.reason
    return found


Step: TypeAlias = Callable[[float], Profile]
"""The profile of one participation, given the length of the strategy's columns it involves."""


class DominatingPair(NamedTuple):
    """A profile that dominates the run; `tight` if the run itself attains it."""

    profile: Profile
    tight: bool


PairBuilder: TypeAlias = Callable[[Step], DominatingPair]
"""The dominating pair of a whole run, given the profile of one participation."""


class IndependentSampling(NamedTuple):
    """Independent Bernoulli draws without which nobody takes part.

    In every step each of the `copies` examples that one protected unit has is sampled with
    probability `rate`, independently, and takes part only if it is sampled. `exact` says that it
    then does take part, until it has done so `most` times (None: always).
    """

    rate: float
    copies: int
    exact: bool
    most: int | None = None


class Renewal(NamedTuple):
    """b-min-sep participation of one example: a renewal process.

    An eligible example takes part with probability `rate` and is then excluded for
    `separation` - 1 steps. With `warm_start` the process is stationary from the first step.
    """

    rate: float
    separation: int
    warm_start: bool


@dataclass(frozen=True)
class Allocation:
    """One step drawn uniformly out of `length`, of which the first `run` are run; `count` times."""

    length: int
    run: int
    count: int


class Equivalent(NamedTuple):
    """Another scheme whose batches are the same, or contain these if `exact` is False."""

    sampling: Sampling
    exact: bool


class Candidate(NamedTuple):
    """A scheme and a strategy that `compare` tries; None stands for independent noise."""

    sampling: Sampling
    strategy: Strategy | None = None


Candidates: TypeAlias = Iterator[Candidate]


@dataclass(frozen=True)
class Simulator:
    """How the privacy loss of a run is drawn.

    `prepare` makes a simulation ready to draw. For user-level privacy a user may have any of the
    numbers `held` of examples, each of which is simulated. `remark` says where likelihood ratios
    are bounds instead of exact.
    """

    prepare: Callable[[Simulation], Runner]
    held: range = range(1, 2)
    remark: str | None = None
