"""Which function draws the losses of which scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.sampling import Sampling

__all__ = ["BLOCK", "Simulation", "missing_simulation", "simulates", "simulation"]

# Normal numbers in memory at a time.
BLOCK = 2_000_000

Objection = Callable[[Plan], str | None]
Losses = Callable[["Simulation", int, np.random.Generator], Iterator[FloatArray]]


class Simulation(NamedTuple):
    """A run with the example (`present`) or without it, with Gaussian noise."""

    plan: Plan
    noise_multiplier: float
    present: bool

    def losses(self, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """log LR of whole runs, in groups of draws that fit into memory."""
        return _ENTRIES[type(self.plan.sampling)].losses(self, draws, rng)


class _Entry(NamedTuple):
    losses: Losses
    objection: Objection


_ENTRIES: dict[type[Sampling], _Entry] = {}


def simulates(
    scheme: type[Sampling], *, objection: Objection = lambda plan: None
) -> Callable[[Losses], Losses]:
    """Register the decorated function as the one that draws the losses of a scheme."""

    def register(losses: Losses) -> Losses:
        _ENTRIES[scheme] = _Entry(losses, objection)
        return losses

    return register


def missing_simulation(plan: Plan) -> str | None:
    """Why the plan cannot be simulated, as a sentence; None if it can."""
    entry = _ENTRIES.get(type(plan.sampling))
    if entry is None:
        known = " and ".join(sorted(scheme.name for scheme in _ENTRIES))
        return f"Only {known} sampling is simulated, not {plan.sampling.name}."
    if plan.mechanism is not None:
        return "Only the Gaussian mechanism is simulated."
    return entry.objection(plan)


def simulation(plan: Plan, *, noise_multiplier: float, present: bool) -> Simulation:
    """The run of a plan for which `missing_simulation` is None."""
    return Simulation(plan, noise_multiplier, present)
