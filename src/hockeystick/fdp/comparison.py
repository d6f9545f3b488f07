"""Comparing products of a family's members, with bounds on both sides."""

from __future__ import annotations

from enum import Enum

import numpy as np

from hockeystick._numerics.envelope import dominates, prices
from hockeystick._numerics.law import Law
from hockeystick.fdp.members import Counts, Products
from hockeystick.profile.refinement import Laws

__all__ = ["Comparison", "Verdict", "exceeds"]


class Verdict(Enum):
    """What is known about the order of two products."""

    FIRST = "the first one has the larger profile"
    SECOND = "the second one has the larger profile"
    CROSSING = "neither is larger"
    UNDECIDED = "the bounds do not tell"


class Comparison:
    """The order of products, from their factors where possible and from their laws otherwise."""

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
    inside = bool(np.any(prices(lower, corners) > prices(upper, corners) + slack))
    ends = (lower.p_infinite > upper.p_infinite + slack, lower.q_zero > upper.q_zero + slack)
    return inside or any(ends)
