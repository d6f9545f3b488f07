"""Products of the members of a family: bounds on both sides, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import reduce
from typing import Protocol

import numpy as np

from hockeystick._numerics.envelope import deltas, dominates
from hockeystick._numerics.law import Law, Resolution
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.gaussian import GaussianTradeOff
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.refinement import Evaluator, Laws

__all__ = ["Comparison", "Counts", "Member", "Products", "Verdict", "exceeds", "products_of"]

Member = Profile | TradeOff | GaussianTradeOff
# How often each member of the family occurs in a product.
Counts = tuple[int, ...]
# Steps of the grids on which profiles are compared, from coarse to fine, the last one tenths of a
# second; and how many nats of a tail have one step.
STEPS, NATS = (0.05, 0.02, 0.008), 8.0
# The tail that is cut, relative to the slack: it cannot decide a comparison.
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
            # An upper bound on f is a lower bound on H.
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


class Verdict(Enum):
    """What is known about the order of two products."""

    FIRST = "the first one has the larger profile"
    SECOND = "the second one has the larger profile"
    CROSSING = "neither is larger"
    UNDECIDED = "the bounds do not tell"


class Comparison:
    """The order of products, from their factors where possible and from their laws otherwise.

    What [Tran26, Theorem 3.6] asks of a family: whether its products are a Blackwell chain
    [Tran26, Definition 3.4]. Trade-off functions are ordered as their profiles are [Tran26, Theorem
    A.7], and profiles are compared.
    """

    def __init__(self, products: Products, *, slack: float) -> None:
        self._products = products
        self._slack = slack
        self._singles: dict[tuple[int, int], Verdict] = {}

    def of(self, one: Counts, other: Counts) -> Verdict:
        """How the two products compare."""
        if sum(one) > 1 or sum(other) > 1:
            if self._covers(one, other):
                return Verdict.FIRST
            if self._covers(other, one):
                return Verdict.SECOND
        return self._numerically(one, other)

    def _covers(self, one: Counts, other: Counts) -> bool:
        """Whether every factor of `other` can be paired with a larger one of `one`.

        Factors are paired greedily, the largest first, which finds a pairing if members are totally
        ordered; products keep order, and further factors of `one` only make it larger.
        """
        mine, theirs = (
            [k for k, count in enumerate(c) for _ in range(count)] for c in (one, other)
        )
        if len(mine) < len(theirs):
            return False
        ranked = sorted(mine, key=self._rank, reverse=True)
        wanted = sorted(theirs, key=self._rank, reverse=True)
        return all(self._larger(a, b) for a, b in zip(ranked, wanted, strict=False))

    def _rank(self, member: int) -> int:
        return sum(self._larger(member, k) for k in range(self._products.size) if k != member)

    def _larger(self, one: int, other: int) -> bool:
        """Whether one member's profile is at least another's."""
        if one == other:
            return True
        key = (min(one, other), max(one, other))
        if key not in self._singles:
            unit = np.eye(self._products.size, dtype=int)
            first, second = (tuple(unit[k].tolist()) for k in key)
            self._singles[key] = self._numerically(first, second)
        return self._singles[key] is (Verdict.FIRST if one == key[0] else Verdict.SECOND)

    def _numerically(self, one: Counts, other: Counts) -> Verdict:
        for resolution in range(self._products.resolutions):
            first = self._products.laws(one, resolution)
            second = self._products.laws(other, resolution)
            verdict = self._verdict(first, second)
            if verdict is not Verdict.UNDECIDED:
                return verdict
        return Verdict.UNDECIDED

    def _verdict(self, first: Laws, second: Laws) -> Verdict:
        if dominates(first.lower, second.upper, self._slack):
            return Verdict.FIRST
        if dominates(second.lower, first.upper, self._slack):
            return Verdict.SECOND
        above = exceeds(first.lower, second.upper, self._slack)
        below = exceeds(second.lower, first.upper, self._slack)
        return Verdict.CROSSING if above and below else Verdict.UNDECIDED


def exceeds(lower: Law, upper: Law, slack: float) -> bool:
    """Whether the profile `lower` is provably above `upper` by more than the slack somewhere."""
    corners = np.unique(np.concatenate((lower.loss, upper.loss)))
    inside = bool(np.any(deltas(lower, corners) > deltas(upper, corners) + slack))
    ends = (lower.p_infinite > upper.p_infinite + slack, lower.q_zero > upper.q_zero + slack)
    return inside or any(ends)
