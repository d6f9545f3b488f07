"""Which function draws the losses of which scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.schemes import Sampling

__all__ = [
    "BLOCK",
    "Drawn",
    "Proposal",
    "Runner",
    "Simulation",
    "missing_simulation",
    "runs_of",
    "simulates",
    "simulation_remark",
]

# Numbers in an array of draws by steps: small enough for the second level of cache.
BLOCK = 100_000

Objection = Callable[[Plan], str | None]


class Drawn(NamedTuple):
    """Draws of whole runs: log LR by noise level and draw, and the logarithm of their weight.

    The weight is the density of the run over that of the proposal that was drawn from; without a
    proposal it is 1. `log_references` are the weights that the draws would have if they came from
    another proposal, the simulation's `reference`. Where they do not matter they are 0.
    """

    losses: FloatArray
    log_weights: FloatArray | None = None
    log_references: FloatArray | None = None


class Proposal(NamedTuple):
    """Draws that are not from the run itself but from one with larger losses.

    A run with the example has its means scaled by `scale` and moved by `shift` times the expected
    mean; one without it, whose mean is zero, is moved alone, and `scale` is 0 (participation.py).
    """

    scale: float
    shift: float


class Runner(Protocol):
    """A simulation, prepared for drawing."""

    @property
    def takes_proposals(self) -> bool:
        """Whether draws may come from a proposal."""

    def draws(self, count: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """log LR of `count` runs, a block at a time."""

    def log_largest_payoff(self, epsilon: float) -> float:
        """log of a bound on weight times hockey stick, over all outcomes; 0 without a proposal.

        The hockey stick of a draw is 1 - e^epsilon / LR with the example and 1 - e^epsilon LR
        without it, where positive. Infinite if there is no bound for the proposal.
        """

    def shift_for(self, loss: float) -> float:
        """The shift of a proposal that moves the loss of the only noise level about this far."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A run with the example (`present`) or without it, with Gaussian noise of several levels.

    For user-level privacy the user has `held` examples. A `proposal` belongs to a single level, and
    so does a `reference`, another proposal whose density is wanted at the same draws. Densities are
    computed where they may matter: where log LR is above `least_loss` with the example, or below
    minus it without.
    """

    plan: Plan
    noise_multipliers: tuple[float, ...]
    present: bool
    held: int = 1
    proposal: Proposal | None = None
    reference: Proposal | None = None
    least_loss: float = -math.inf

    def prepared(self) -> Runner:
        """Ready to draw; memory does not grow with the number of draws."""
        return _ENTRIES[type(self.plan.sampling)].prepare(self)


Prepare = Callable[[Simulation], Runner]


class _Entry(NamedTuple):
    prepare: Prepare
    objection: Objection
    held: Callable[[Plan], range]
    remark: Objection


_ENTRIES: dict[type[Sampling], _Entry] = {}


def simulates(
    scheme: type[Sampling],
    *,
    objection: Objection = lambda plan: None,
    held: Callable[[Plan], range] = lambda plan: range(1, 2),
    remark: Objection = lambda plan: None,
) -> Callable[[Prepare], Prepare]:
    """Register the decorated function as the one that prepares simulations of a scheme.

    `held(plan)` are the numbers of examples of a user that have to be looked at. `remark(plan)`
    says where likelihood ratios are not exact.
    """

    def register(prepare: Prepare) -> Prepare:
        _ENTRIES[scheme] = _Entry(prepare, objection, held, remark)
        return prepare

    return register


def missing_simulation(plan: Plan) -> str | None:
    """Why the plan cannot be simulated, as a clause; None if it can."""
    entry = _ENTRIES.get(type(plan.sampling))
    if entry is None:
        known = ", ".join(sorted(scheme.name for scheme in _ENTRIES))
        return f"{plan.sampling.name} sampling is not simulated (simulated are {known})"
    if plan.mechanism is not None:
        return "only the Gaussian mechanism is simulated"
    return entry.objection(plan)


def simulation_remark(plan: Plan) -> str | None:
    """What is to be known about a simulation of the plan, in a clause; None if nothing."""
    return _ENTRIES[type(plan.sampling)].remark(plan)


def runs_of(plan: Plan, *, present: bool) -> list[Simulation]:
    """Everything whose worst case is the plan's, without noise levels yet.

    That is one run for example-level privacy; for users one for each number of examples that a user
    may have, because the one with the most need not be the worst.
    """
    held = _ENTRIES[type(plan.sampling)].held(plan)
    return [
        Simulation(plan=plan, noise_multipliers=(), present=present, held=number) for number in held
    ]
