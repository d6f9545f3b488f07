"""Expressions of several pairs: composition, the maximum, the convex envelope of the minimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.envelope import ALIGN, maximum, minimum
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, from_losses
from hockeystick._numerics.moments import (
    MomentNodes,
    PowerMoments,
    composed_moments,
    composed_nodes,
)
from hockeystick._numerics.rounding import spread_outwards
from hockeystick.profile.convolution import product_of_powers, rounding_levels
from hockeystick.profile.expressions import Expression, Factor

__all__ = [
    "Composed",
    "Maximum",
    "Minimum",
    "compose",
]


@dataclass(frozen=True)
class Composed(Expression):
    """The tensor product of powers of its members."""

    members: tuple[Factor, ...]

    @property
    def lower_composes(self) -> bool:
        """Only if it holds for every member."""
        return all(member.lower_composes for member, _ in self.members)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """O(log count) pairwise products of O(N^2); all members share their squarings."""
        counts = [count for _, count in self.members]
        share = resolution.scaled(tail=0.25 / sum(counts))
        laws = [member.operand_law(side, share) for member, _ in self.members]
        return product_of_powers(laws, counts, resolution, side)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """Those of the members multiply."""
        share = resolution.scaled(tail=0.25 / sum(count for _, count in self.members))
        return composed_moments(
            [
                (member.power_moments(largest, reverse=reverse, resolution=share), count)
                for member, count in self.members
            ]
        )

    def moment_nodes(
        self, orders: FloatArray, *, reverse: bool, resolution: Resolution
    ) -> MomentNodes:
        """Those of the members multiply."""
        share = resolution.scaled(tail=0.25 / sum(count for _, count in self.members))
        return composed_nodes(
            [
                (member.moment_nodes(orders, reverse=reverse, resolution=share), count)
                for member, count in self.members
            ]
        )

    def largest_loss(self, *, reverse: bool) -> float:
        """Losses add up."""
        return sum(count * member.largest_loss(reverse=reverse) for member, count in self.members)

    def gaussian_mu(self) -> float:
        """Squares add."""
        return math.sqrt(sum(count * one.gaussian_mu() ** 2 for one, count in self.members))

    def levels(self) -> int:
        """Of the deepest member, and of the powers and the tree over members.

        One level of the tree, where single steps are multiplied, counts for about four squarings
        (measured): those laws are the most heavy-tailed ones.
        """
        inner = max(member.levels() for member, _ in self.members)
        powers = max(rounding_levels(count) for _, count in self.members)
        return inner + 1 + powers + 4 * (len(self.members) - 1).bit_length()

    def factors(self) -> Sequence[Factor]:
        """Its members, so that products of products stay flat."""
        return self.members


def compose(factors: Sequence[Factor]) -> Expression:
    """The composition in normal form: flat, equal members counted, families fused.

    It dominates the composition of what its members dominate [ZhuDongWang22, Theorem 10].
    """
    if factors and all(member.sampled() is not member for member, _ in factors):
        return compose([(member.sampled(), count) for member, count in factors]).reverse()
    counts: dict[Expression, int] = {}
    for factor, count in factors:
        for member, inner in factor.factors():
            counts[member] = counts.get(member, 0) + inner * count
    members = _fuse_families(counts)
    if len(members) == 1 and members[0][1] == 1:
        return members[0][0]
    return Composed(tuple(members))


def _fuse_families(counts: dict[Expression, int]) -> list[Factor]:
    families: dict[str, list[Factor]] = {}
    alone: list[Factor] = []
    for member, count in counts.items():
        target = alone if member.family is None else families.setdefault(member.family, [])
        target.append((member, count))
    return alone + [(factors[0][0].fuse(factors), 1) for factors in families.values()]


def _outwards(law: Law, side: Side) -> Law:
    """Losses moved away from 0 (upper) or towards it (lower) by what aligning may have cost."""
    if side is Side.UPPER:
        return spread_outwards(law, law.loss * (1 + 2 * ALIGN))
    main = np.where(law.loss >= 0, law.p, law.q)
    inwards = law.loss * (1 - 2 * ALIGN)
    return from_losses(inwards, main, p_infinite=law.p_infinite, q_zero=law.q_zero)


@dataclass(frozen=True)
class Maximum(Expression):
    """A pair that dominates both members: for the worse of two mechanisms.

    Its lower side bounds the maximum of the two profiles, but a composition of maxima can exceed
    the maximum of the compositions, so the lower side must not be composed.
    """

    first: Expression
    second: Expression

    @property
    def lower_composes(self) -> bool:
        """No: take maxima last."""
        return False

    @property
    def closed_form_error(self) -> float:
        """The larger one."""
        return max(self.first.closed_form_error, self.second.closed_form_error)

    @property
    def argument_error(self) -> float:
        """The larger of the two."""
        return max(self.first.argument_error, self.second.argument_error)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """From the laws of both members."""
        law = maximum(self.first.law(side, resolution), self.second.law(side, resolution))
        return _outwards(law, side)

    def covers(self, other: Expression) -> bool:
        """Whatever one of the members covers."""
        return self == other or self.first.covers(other) or self.second.covers(other)

    def gaussian_mu(self) -> float:
        """The larger one."""
        return max(self.first.gaussian_mu(), self.second.gaussian_mu())

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The larger one, where both have a formula."""
        values = [m.closed_form(epsilon, reverse=reverse) for m in (self.first, self.second)]
        known = [value for value in values if value is not None]
        return max(known) if len(known) == 2 else None


@dataclass(frozen=True)
class Minimum(Expression):
    """The best of two bounds on the same mechanism: the largest convex function below both."""

    first: Expression
    second: Expression

    @property
    def lower_composes(self) -> bool:
        """If it does for both members."""
        return self.first.lower_composes and self.second.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """From the laws of both members."""
        law = minimum(self.first.law(side, resolution), self.second.law(side, resolution))
        return _outwards(law, side)

    def gaussian_mu(self) -> float:
        """The smaller one: both are bounds."""
        return min(self.first.gaussian_mu(), self.second.gaussian_mu())

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())
