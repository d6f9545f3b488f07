"""What a sampling scheme can offer to an analysis, and how it says that it has nothing to offer.

An analysis asks a scheme for what it needs (`plan.sampling.dominating_pair(plan)`, ...) and gets
one of these objects, or `Missing` with the reason. The questions are the methods of `Sampling`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from hockeystick.bounds.counted_picks import CountedPicks
from hockeystick.profile import Profile
from hockeystick.schemes.participants import IndependentSampling, Participant, Renewal, Step
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
    "Participant",
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
    """What a capability may depend on besides the scheme itself; every `Plan` is one.

    Attributes
    ----------
    steps
        The number of updates.
    strategy
        The matrix C that correlates the noise.
    mechanism
        The profile of one participation; None for the Gaussian mechanism.
    correlated
        Whether C is not the identity matrix.
    """

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

    @property
    def adjacency(self) -> str:
        """The neighbouring relation: "add-remove" or "replace-one"."""

    @property
    def examples(self) -> int | None:
        """How many examples there are, where that is fixed in advance."""


class SampledRun(Run, Protocol):
    """A run together with its scheme; every `Plan` is one."""

    @property
    def sampling(self) -> Sampling:
        """How batches are drawn."""


@dataclass(frozen=True)
class Missing:
    """What a scheme returns instead of something that it does not offer.

    Attributes
    ----------
    reason
        Why, in one clause.
    always
        Whether no run of the scheme has it; otherwise the reason is about this run.
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


class DominatingPair(NamedTuple):
    """A pair (P, Q) that dominates the run, as a profile.

    Attributes
    ----------
    profile
        H(P || Q) as a function of epsilon; the other direction is its `reverse()`.
    tight
        Whether the run itself attains it.
    below
        Profiles of pairs that the run dominates, where it does not attain the other one.
    counted
        The run itself where it consists of several picks and the pair is not tight.
    """

    profile: Profile
    tight: bool
    below: tuple[Profile, ...] = ()
    counted: CountedPicks | None = None


PairBuilder: TypeAlias = Callable[[Step], DominatingPair]
"""The dominating pair of a whole run, given the profile of one participation."""


@dataclass(frozen=True)
class Allocation:
    """Draws of one step out of several, each independent of the others.

    Attributes
    ----------
    length
        The number of steps of which one is drawn uniformly.
    steps_run
        How many of them, the first ones, are run.
    count
        How many such draws there are.
    """

    length: int
    steps_run: int
    count: int


class SparseSharing(NamedTuple):
    """A user whose draws show only while one of few neighbours is drawn soon after.

    Attributes
    ----------
    alone
        The scheme for a user who shares nothing.
    revealed
        At least the participations that others reveal.
    """

    alone: Sampling
    revealed: Participant


class Equivalent(NamedTuple):
    """Another scheme of which this one is a special case.

    Attributes
    ----------
    sampling
        The other scheme.
    exact
        Whether its batches are the same; otherwise they contain those of this scheme.
    """

    sampling: Sampling
    exact: bool


# A candidate that takes no longer is quick.
QUICK = 5.0


@dataclass(frozen=True)
class Candidate:
    """What `compare` tries.

    Attributes
    ----------
    sampling
        The scheme.
    strategy
        A strategy, or a factorization that is called with the steps, the `parameters` and, if it
        takes one, the workload; None for independent noise.
    parameters
        What the factorization is called with.
    seconds
        About how long calibration takes for two thousand steps on one core. Candidates are tried in
        this order. Up to five seconds are quick: a closed form, or a convolution.
    baseline
        Whether this is plain DP-SGD, which the others are compared with.
    by_draws
        Whether it is tried only where draws may verify it: it has no proven bound that is worth
        its time.
    """

    sampling: Sampling
    strategy: Strategy | Callable[..., Strategy] | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 60.0
    baseline: bool = False
    by_draws: bool = False

    @property
    def quick(self) -> bool:
        """Whether `compare(quick=True)` tries it."""
        return self.seconds <= QUICK


@dataclass(frozen=True)
class Simulator:
    """How the privacy loss of a run is drawn.

    Attributes
    ----------
    prepare
        Makes a simulation ready to draw.
    held
        The numbers of examples that a protected user may have, each of which is simulated.
    remark
        Where likelihood ratios are bounds instead of exact, in a clause; None if nowhere.
    """

    prepare: Callable[[Simulation], Runner]
    held: range = range(1, 2)
    remark: str | None = None
