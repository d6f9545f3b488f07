"""Which function builds the pair of which scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes import Sampling

__all__ = ["DominatingPair", "Step", "dominating_pair", "missing_pair", "pair_of"]


class DominatingPair(NamedTuple):
    """A profile that dominates the plan; `tight` if it is attained by the plan itself."""

    profile: Profile
    tight: bool


# The profile of one participation, given the length of the strategy's columns it involves.
Step = Callable[[float], Profile]
Builder = Callable[[Plan, Step], DominatingPair]
Objection = Callable[[Plan], str | None]


class _Entry(NamedTuple):
    builder: Builder
    objection: Objection


_ENTRIES: dict[type[Sampling], _Entry] = {}


def needs_independent_noise(plan: Plan) -> str | None:
    """The usual objection: steps can be composed only if their noise is independent."""
    if not plan.correlated:
        return None
    return f"no dominating pair is known for {plan.sampling.name} with correlated noise"


def pair_of(
    scheme: type[Sampling], *, objection: Objection = needs_independent_noise
) -> Callable[[Builder], Builder]:
    """Register the decorated function as the builder of a scheme's pair.

    `objection(plan)` says in one clause why it cannot build this one, or is None.
    """

    def register(builder: Builder) -> Builder:
        _ENTRIES[scheme] = _Entry(builder, objection)
        return builder

    return register


def missing_pair(plan: Plan) -> str | None:
    """Why no dominating pair is known for the plan, in one clause; None if one is."""
    entry = _ENTRIES.get(type(plan.sampling))
    if entry is None:
        return f"no dominating pair is known for {plan.sampling.name}"
    return entry.objection(plan)


def dominating_pair(plan: Plan, step: Step) -> DominatingPair:
    """The pair of the whole run, given the profile of a participation."""
    return _ENTRIES[type(plan.sampling)].builder(plan, step)
