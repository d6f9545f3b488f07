"""What every sampling scheme can do, and what an analysis may ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from inspect import isfunction, signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.batches import Batches, Indices
from hockeystick.schemes.capabilities import (
    Allocation,
    Candidate,
    Equivalent,
    IndependentSampling,
    Missing,
    PairBuilder,
    Participant,
    Renewal,
    Run,
    Simulator,
    SparseSharing,
)

if TYPE_CHECKING:
    from hockeystick.schemes.mixtures import MixtureBlocks, UniformMixture
    from hockeystick.schemes.user_min_sep.attribution import Attribution

__all__ = ["CAPABILITIES", "Sampling", "check_scheme", "check_scheme_class"]


@dataclass(frozen=True, kw_only=True)
class Sampling(ABC):
    """How the batches of a run are drawn: a frozen description that also draws them.

    The object that is accounted is the object that yields the batches, so that the two cannot
    disagree. A scheme is a frozen, keyword-only dataclass with a kebab-case `name`; it checks and
    normalises its fields in `__post_init__` and implements the abstract methods below.

    The methods from `dominating_pair` on are what analyses ask for. Each returns what is offered
    for a run, or `Missing` with the reason; a scheme overrides those for which it has an answer.
    They read the scheme from `self` and the rest from the run. `docs/extending.md` adds a scheme.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "example"
    """Whose participation is limited and protected: that of an example, or of a user."""
    conjectured: ClassVar[bool] = False
    """Whether an argument that the amplification rests on is only conjectured."""

    @classmethod
    @abstractmethod
    def for_batch_size(cls, *args: Any, **options: Any) -> Self:
        """The scheme with a wanted expected batch size: `for_batch_size(batch_size, *, examples)`.

        Schemes with further parameters take them as keywords (`groups=`, `picks=`). A batch larger
        than the data is refused.
        """

    @abstractmethod
    def expected_batch_size(self, examples: int) -> float:
        """Expected number of examples in a batch, averaged over the steps."""

    @abstractmethod
    def most_participations(self, steps: int) -> int:
        """Largest number of steps, out of `steps`, that one example can join: at least 1."""

    @property
    def least_gap(self) -> int:
        """Smallest possible number of steps from one participation of an example to its next."""
        return 1

    @property
    def most_copies(self) -> int:
        """How many examples of the `unit` that is protected can be in one batch."""
        return 1

    @property
    def others_are_independent(self) -> bool:
        """Whether others take part independently of the draws of the unit that is protected.

        If not, what others contribute may reveal those draws, and they amplify nothing.
        """
        return True

    @property
    def displaces(self) -> bool:
        """Whether an example that takes part may keep another one out of the batch.

        What it adds is then a difference of two gradients.
        """
        return False

    @property
    def fixed_batch_size(self) -> int | None:
        """A size that no batch exceeds, up to which batches are padded; None if none is set."""
        return None

    @property
    def participation_known(self) -> bool:
        """Whether the steps that an example joins are not random."""
        return False

    def attains(self, pattern: Sequence[int]) -> bool:
        """Whether some example is known to take part in exactly these equally spaced steps."""
        return self.participation_known and len(pattern) > 0

    @abstractmethod
    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        """The batches, for arguments that are already checked."""

    def check_steps(self, steps: int) -> int:
        """The number of steps as an `int`; `InvalidParameter` if this scheme cannot run it."""
        return positive_integer("steps", steps)

    def batches(
        self, *, examples: int | Attribution, steps: int, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """Exactly `steps` batches, each a sorted int64 array of distinct indices below `examples`.

        A batch may be empty. Arguments are checked at the call, batches are drawn when they are
        requested. The iterator works only in the process that made it, and cannot be copied or
        pickled.

        Parameters
        ----------
        examples
            Their number. Schemes whose unit is a user also take the graph of examples and users.
        steps
            The number of batches.
        rng
            Anything that `generator` takes; the default is seeded cryptographically.

        Returns
        -------
        Iterator[Indices]
            The batches, each once.
        """
        count = positive_integer("examples", examples)
        steps = self.check_steps(steps)
        return Batches(self._draw(count, steps, generator(rng)), steps)

    def at_rate(self, rate: float) -> Sampling | Missing:
        """The same scheme with another rate, where a run may change it between two steps."""
        return Missing(f"the rate of {self.name} sampling cannot change while it runs", always=True)

    def first_steps(self, steps: int) -> Sampling | Missing:
        """The scheme whose batches have the law of the first `steps` batches of a longer run.

        For `Plan.prefix`. Usually the scheme itself; it has to say so.
        """
        return Missing(f"{self.name} does not say what its first {steps} steps are", always=True)

    def describe(self) -> dict[str, object]:
        """The scheme's name and parameters, ready for JSON; what is None does not apply."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {name: value for name, value in parameters.items() if value is not None}
        return {"scheme": self.name, **known}

    # -- what an analysis may ask ----------------------------------------------------------------

    def refusal(self, run: Run, noise_multiplier: float | None) -> str | None:
        """Why no run of this scheme is accounted for, as a text; None if they are."""
        return None

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """A pair (P, Q) that dominates the whole run, built from that of one participation."""
        return Missing(f"no dominating pair is known for {self.name}", always=True)

    def replaced_pair(self, run: Run) -> bool | Missing:
        """Whether `dominating_pair` is also one for an example that is replaced by another.

        It is if the pair is made of `step(length)` and `step.sampled(length, rate)` alone, composed
        over steps whose noise is independent; larger random sets of steps, and averages over them,
        are proven for examples that are added or removed.
        """
        return Missing(f"no pair is known for {self.name} with replaced examples", always=True)

    def uniform_mixture(self, run: Run) -> UniformMixture | Missing:
        """P as the average of equally likely Gaussians N(m_i, s^2 I), and Q = N(0, s^2 I)."""
        return Missing(f"{self.name} is not a uniform mixture of Gaussians", always=True)

    def mixture_blocks(self, run: Run) -> MixtureBlocks | Missing:
        """One uniform mixture of Gaussians after the other; a single one if the run is one."""
        mixture = self.uniform_mixture(run)
        return mixture if isinstance(mixture, Missing) else mixture.as_blocks

    def independent_sampling(self, run: Run) -> IndependentSampling | Missing:
        """Independent draws in every step without which the unit does not take part."""
        return Missing(
            f"participation under {self.name} does not depend on independent draws in every step",
            always=True,
        )

    def parallel_allocations(self, run: Run) -> list[Allocation] | Missing:
        """Draws of one step each which, composed, dominate the run."""
        return Missing(f"{self.name} does not allocate participations to steps", always=True)

    def participants(self, run: Run) -> Iterator[Participant] | Missing:
        """The law of the participations of a single unit, for every number of examples it has.

        The laws are computed when the iterator is consumed.
        """
        return Missing(f"the law of participation is not worked out for {self.name}", always=True)

    def sparse_sharing(self, run: Run) -> SparseSharing | Missing:
        """What few neighbours reveal of a user's draws, where examples have several users."""
        return Missing(f"{self.name} does not say how much neighbours reveal", always=True)

    def renewal(self, run: Run) -> Renewal | Missing:
        """The participations of an example as a renewal process."""
        return Missing(f"participation under {self.name} is no renewal process", always=True)

    def equivalent(self, run: Run) -> Equivalent | Missing:
        """Another scheme that draws the same batches, where this one is a special case of it."""
        return Missing(f"{self.name} is not a special case of another scheme", always=True)

    def rate_for_filters(self, run: Run) -> float | Missing:
        """The rate at which each step alone is Poisson sampled: filters charge step by step."""
        sampling = self.independent_sampling(run)
        reason = f"the steps of {self.name} are not independent and alike"
        if isinstance(sampling, Missing):
            return Missing(reason, always=sampling.always)
        alike = sampling.exact and sampling.most is None and sampling.copies == 1
        return sampling.rate if alike else Missing(reason)

    def simulation(self, run: Run) -> Simulator | Missing:
        """How privacy losses of the run are drawn, for Monte Carlo."""
        return Missing(f"{self.name} sampling is not simulated", always=True)

    def better_batches(self, run: Run) -> str:
        """Which batches of the same size suit the noise of the run better; empty if none do."""
        return ""

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """What `compare` tries for a run of this size, from cheap to expensive; nothing here."""
        return iter(())

    @classmethod
    def user_candidates(
        cls, *, batch_size: float, attribution: Attribution, steps: int
    ) -> Iterator[Candidate]:
        """The same where users with several examples are protected; nothing here."""
        return iter(())


CAPABILITIES = frozenset(
    name
    for name, method in vars(Sampling).items()
    if isfunction(method) and [*signature(method).parameters] == ["self", "run"]
)
"""What an analysis may need, by name: what a scheme answers for a run, perhaps with `Missing`."""


def check_scheme_class(scheme: Any) -> None:
    """`InvalidParameter` unless equal schemes are the same scheme.

    Plans are keys of caches. A class without a decorator of its own has the equality of its base,
    which ignores what the class adds: one scheme would get the answer of another.
    """
    own = vars(scheme).get("__dataclass_params__")
    if own is None or not own.frozen or not own.eq or not all(f.compare for f in fields(scheme)):
        allowed = "a scheme whose own class is a @dataclass(frozen=True, kw_only=True)"
        raise InvalidParameter("sampling", f"{allowed} that compares all its fields", scheme)


def check_scheme(scheme: Sampling) -> None:
    """`InvalidParameter` unless the scheme is described by its fields alone."""
    kind = type(scheme)
    check_scheme_class(kind)
    known = {field.name for field in fields(scheme)}
    for name in getattr(scheme, "__dict__", {}):
        if name not in known and not isinstance(getattr(kind, name, None), cached_property):
            allowed = f"a scheme whose attributes are fields of {kind.__name__}"
            raise InvalidParameter("sampling", allowed, name)
