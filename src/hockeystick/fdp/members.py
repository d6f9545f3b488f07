"""Products of the members of a family, with bounds on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

from hockeystick._numerics.law import Resolution
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.gaussian import GaussianTradeOff
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.refinement import Evaluator, Laws

__all__ = ["Counts", "Member", "Products", "products_of"]

Member = Profile | TradeOff | GaussianTradeOff
# How often each member of the family occurs in a product.
Counts = tuple[int, ...]
# Steps of the grids on which profiles are compared, from coarse to fine.
STEPS, NATS = (0.05, 0.02, 0.008), 8.0
# The tail that is cut, relative to the slack.
TAIL_BELOW_SLACK = 1e-3


class Products(Protocol):
    """What a family's products look like at each of several resolutions."""

    @property
    def size(self) -> int:
        """How many members there are."""

    @property
    def resolutions(self) -> int:
        """How many times the bounds can be refined."""

    def laws(self, counts: Counts, resolution: int) -> Laws:
        """Lower and upper bound on the law of a product."""


class Polygons:
    """Products of trade-off functions: exact, apart from those with very many corners."""

    resolutions = 1

    def __init__(self, members: Sequence[TradeOff]) -> None:
        self._members = [TradeOff.of_law(one.law) for one in members]
        self._known: dict[Counts, Laws] = {}

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self._members)

    def laws(self, counts: Counts, resolution: int) -> Laws:
        """Both sides; they are one and the same as long as nothing had to be rounded."""
        if counts not in self._known:
            sides = [self._product(counts, upper=upper) for upper in (False, True)]
            self._known[counts] = Laws(sides[0].law, sides[1].law)
        return self._known[counts]

    def _product(self, counts: Counts, *, upper: bool) -> TradeOff:
        """The product, a bound on H from above or from below if it has to be rounded."""
        if not upper:
            members = [TradeOff.of_law(one.law, bound="upper") for one in self._members]
        else:
            members = self._members
        powers = [one.power(count) for one, count in zip(members, counts, strict=True) if count]
        return reduce(TradeOff.tensor, powers)


class Profiles:
    """Products of profiles, on grids that are refined."""

    resolutions = len(STEPS)

    def __init__(self, members: Sequence[Profile], *, slack: float) -> None:
        self._members = members
        self._tail = TAIL_BELOW_SLACK * slack
        self._known: dict[Counts, Evaluator] = {}

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self._members)

    def laws(self, counts: Counts, resolution: int) -> Laws:
        """From the arithmetic of profiles."""
        if counts not in self._known:
            pairs = zip(self._members, counts, strict=True)
            product = compose([(one.expression, count) for one, count in pairs if count])
            self._known[counts] = Evaluator(product)
        return self._known[counts].laws(Resolution(STEPS[resolution], self._tail, NATS))


def products_of(members: Sequence[Member], *, slack: float) -> Products:
    """Exact products if all members are polygons, bounds from profiles otherwise."""
    polygons = [one for one in members if isinstance(one, TradeOff)]
    if any(one.bound == "estimate" for one in polygons):
        raise InvalidParameter("family", "made of curves that are no estimates", list(members))
    if len(polygons) == len(members):
        return Polygons(polygons)
    profiles = [one if isinstance(one, Profile) else one.to_profile() for one in members]
    return Profiles(profiles, slack=slack)
