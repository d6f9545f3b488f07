"""What `compare` tries for a run: candidates of all schemes, the quick ones first."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.schemes import SCHEMES, Attribution, Candidate
from hockeystick.schemes.batches import batch_size_within
from hockeystick.strategies import Strategy, identity, iterates
from hockeystick.strategies.workloads import Workload

__all__ = [
    "ONE_OF_THEM",
    "OPTIMIZERS",
    "RunSize",
    "candidates",
    "plan_of",
    "steps_for",
    "users_with",
]

# What is not a whole number of steps by less than this, relatively, is one: rounding of decimals.
ROUNDING = 1e-9
# Whether the iterates of an optimizer are linear in the gradients, so that the noise in them has an
# error that does not depend on the data.
OPTIMIZERS = {
    "sgd": True,
    **dict.fromkeys(("adam", "adamw", "adagrad", "rmsprop", "other"), False),
}
ONE_OF_THEM = "given, or epochs in their place, and not both"


def steps_for(*, epochs: float, examples: int, batch_size: float) -> int:
    """The number of steps in which every example takes part `epochs` times on average.

    epochs * examples / batch_size, rounded up.

    Parameters
    ----------
    epochs
        Passes over the data; need not be whole.
    examples
        How many there are.
    batch_size
        The expected batch size.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.steps_for(epochs=20, examples=60_000, batch_size=512)
    2344
    """
    size, count = batch_size_within(batch_size, examples=examples)
    steps = check.positive("epochs", epochs) * count / size
    return check.positive_integer("steps", max(1, math.ceil(steps * (1 - ROUNDING))))


@dataclass(frozen=True, kw_only=True)
class RunSize:
    """What a comparison is about; the fields are the parameters of `compare`.

    Exactly one of `steps` and `epochs` is given; afterwards `steps` is set.
    """

    examples: int
    batch_size: float
    steps: int = None  # type: ignore[assignment]  # epochs are turned into steps
    epochs: float | None = None
    momentum: float = 0.0
    learning_rates: str | npt.ArrayLike | None = None
    examples_per_user: int | None = None
    optimizer: str = "sgd"

    def __post_init__(self) -> None:
        size, examples = batch_size_within(self.batch_size, examples=self.examples)
        object.__setattr__(self, "batch_size", size)
        object.__setattr__(self, "examples", examples)
        given: object = self.steps
        if (given is None) == (self.epochs is None):
            raise InvalidParameter("steps", ONE_OF_THEM, given)
        if self.epochs is not None:
            steps = steps_for(epochs=self.epochs, examples=examples, batch_size=size)
            object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "steps", check.positive_integer("steps", self.steps))
        if self.examples_per_user is not None:
            most = check.positive_integer("examples_per_user", self.examples_per_user)
            if not most <= examples:
                allowed = f"at most examples={examples}"
                raise InvalidParameter("examples_per_user", allowed, most)
            object.__setattr__(self, "examples_per_user", most)
        if self.optimizer not in OPTIMIZERS:
            raise InvalidParameter("optimizer", f"one of {', '.join(OPTIMIZERS)}", self.optimizer)
        for name, value in (("momentum", self.momentum), ("learning_rates", self.learning_rates)):
            if not self.linear and value is not None and not np.array_equal(value, 0.0):
                allowed = (
                    f"left out with optimizer={self.optimizer!r}, for which noise is independent "
                    "and the ranking depends on neither momentum nor learning rates"
                )
                raise InvalidParameter(name, allowed, value)
        _ = self.workload  # is checked here

    @property
    def linear(self) -> bool:
        """Whether the optimizer's iterates are linear in the gradients."""
        return OPTIMIZERS[self.optimizer]

    @cached_property
    def workload(self) -> Workload:
        """What the error is of; None for prefix sums."""
        rates = self.learning_rates
        constant = rates is None or (isinstance(rates, str) and rates == "constant")
        if self.momentum == 0 and constant:
            return None
        if rates is not None and not isinstance(rates, str):
            # Errors are in units of the largest learning rate.
            rates = check.vector("learning_rates", rates)
            rates = rates / rates.max() if rates.size and rates.max() > 0 else rates
        return iterates(self.steps, momentum=self.momentum, learning_rates=rates)

    @cached_property
    def data(self) -> int | Attribution:
        """The number of examples, or a graph in which every user has as many as were given."""
        if self.examples_per_user is None:
            return self.examples
        return users_with(self.examples_per_user, examples=self.examples)


def users_with(examples_per_user: int, *, examples: int) -> Attribution:
    """A graph in which every user has as many examples, one after the other; the last the rest."""
    owners = np.arange(examples) // examples_per_user
    return Attribution.from_pairs(
        examples=np.arange(examples),
        users=owners,
        number_of_examples=examples,
        number_of_users=int(owners[-1]) + 1,
    )


def candidates(
    run: RunSize,
    *,
    schemes: Collection[str] | None = None,
    quick: bool = False,
    verify: bool = False,
) -> list[Candidate]:
    """What every registered scheme would try, the quick ones first.

    With `verify` also what is tried only where draws may verify it.

    The error of correlated noise is that of an optimizer whose iterates are linear in the
    gradients; for others only independent noise is tried.
    """
    names = SCHEMES if schemes is None else _known(schemes)
    found = [one for name in names for one in _of_scheme(name, run)]
    found = [one for one in found if run.linear or one.strategy is None]
    found = [one for one in found if verify or not one.by_draws]
    if not found:
        allowed = f"schemes with candidates for this run: {', '.join(_proposing(run))}"
        raise InvalidParameter("schemes", allowed, ", ".join(names))
    kept = [one for one in found if one.quick or one.by_draws or not quick]
    if not kept:
        allowed = f"left out for {', '.join(names)}, where nothing is quick"
        raise InvalidParameter("quick", allowed, quick)
    # The quick ones stay in their order, in which one scheme's noise is a guess at its next.
    return sorted(kept, key=lambda one: 0.0 if one.quick else one.seconds)


def plan_of(candidate: Candidate, run: RunSize) -> Plan:
    """The plan of a candidate; a strategy that is optimised is made here."""
    strategy = _strategy(candidate, run)
    return Plan(sampling=candidate.sampling, steps=run.steps, strategy=strategy)


def _strategy(candidate: Candidate, run: RunSize) -> Strategy:
    made = candidate.strategy
    if made is None:
        return identity(run.steps)
    if isinstance(made, Strategy):
        return made
    takes = "workload" in inspect.signature(made).parameters
    workload = {"workload": run.workload} if takes and run.workload is not None else {}
    return made(run.steps, **candidate.parameters, **workload)


def _of_scheme(name: str, run: RunSize) -> Iterator[Candidate]:
    scheme, size, data = SCHEMES[name], run.batch_size, run.data
    if isinstance(data, Attribution):
        return scheme.user_candidates(batch_size=size, attribution=data, steps=run.steps)
    return scheme.candidates(batch_size=size, examples=data, steps=run.steps)


def _proposing(run: RunSize) -> list[str]:
    return [name for name in SCHEMES if next(_of_scheme(name, run), None) is not None]


def _known(schemes: Collection[str]) -> list[str]:
    """The names, each once; `InvalidParameter` for one that is not registered."""
    if isinstance(schemes, str) or not all(isinstance(one, str) for one in schemes):
        raise InvalidParameter("schemes", "a list of names", schemes)
    for name in schemes:
        if name not in SCHEMES:
            raise InvalidParameter("schemes", f"among {', '.join(SCHEMES)}", name)
    return list(dict.fromkeys(schemes))
