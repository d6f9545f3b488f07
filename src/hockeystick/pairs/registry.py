"""Which function builds the pair of which scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import Sampling

__all__ = ["DominatingPair", "dominating_pair", "has_pair", "pair_of"]


class DominatingPair(NamedTuple):
    """A profile that dominates the plan; `tight` if it is attained by the plan itself."""

    profile: Profile
    tight: bool


Builder = Callable[[Plan, Profile], DominatingPair]
_BUILDERS: dict[type[Sampling], Builder] = {}


def pair_of(scheme: type[Sampling]) -> Callable[[Builder], Builder]:
    """Register the decorated function as the builder of a scheme's pair."""

    def register(builder: Builder) -> Builder:
        _BUILDERS[scheme] = builder
        return builder

    return register


def has_pair(plan: Plan) -> bool:
    """Whether a dominating pair is known for the plan."""
    return type(plan.sampling) in _BUILDERS


def dominating_pair(plan: Plan, step: Profile) -> DominatingPair:
    """The pair of the whole run, given the profile of one step on a batch with the example."""
    return _BUILDERS[type(plan.sampling)](plan, step)
