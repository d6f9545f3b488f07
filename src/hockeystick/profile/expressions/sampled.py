"""Sampling of a pair: Poisson subsampling and its inverse, random allocation, one of several.

All of these act on the likelihood ratio LR = dP/dQ: 1 - r + r LR, its inverse, and averages of
independent copies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import Law, Resolution, Side, condition, joined, subsample
from hockeystick._numerics.mixed_ratio import argument_growth, mixed_loss, unmixed_loss
from hockeystick._numerics.moments import (
    PowerMoments,
    allocated_moments,
    mixed_moments,
    subsampled_moments,
)
from hockeystick._numerics.rounding import spread_outwards
from hockeystick.profile.convolution import TAIL_SHARE, average, average_of_copies, rounding_levels
from hockeystick.profile.expressions import Expression, Factor

__all__ = [
    "Allocated",
    "Averaged",
    "Conditioned",
    "Revealed",
    "Subsampled",
    "drawn_uniformly",
]

# What the argument of the closed form loses to floating point, relatively.
ARGUMENT_ROUNDING = 1e-15
# Below this e^epsilon is 0 beside 1.
SMALLEST_EPSILON = -700.0


@dataclass(frozen=True)
class Subsampled(Expression):
    """((1 - rate) Q + rate P, Q): LR becomes 1 - rate + rate LR [ZhuDongWang22, Theorem 11]."""

    child: Expression
    rate: float

    @property
    def lower_composes(self) -> bool:
        """As for the child: the map of LR is affine."""
        return self.child.lower_composes

    @property
    def closed_form_error(self) -> float:
        """That of the child."""
        return self.child.closed_form_error + 1e-12

    @property
    def argument_error(self) -> float:
        """That of the child, and of the ends of the loss, next to which all digits of it count."""
        return (self.child.argument_error + ARGUMENT_ROUNDING) * argument_growth(self.rate)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atom by atom, exact; the child's right tail may be cut later by the factor 1/rate."""
        return subsample(self.child.law(side, resolution), self.rate)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """By the binomial theorem from the child's; reversed, from the law."""
        if reverse:
            return super().power_moments(largest, reverse=True, resolution=resolution)
        child = self.child.power_moments(largest, reverse=False, resolution=resolution)
        return subsampled_moments(child, self.rate)

    def largest_loss(self, *, reverse: bool) -> float:
        """LR is at least 1 - rate + rate e^-l where the child's reversed loss is at most l."""
        inner = self.child.largest_loss(reverse=reverse)
        return -mixed_loss(self.rate, -inner) if reverse else mixed_loss(self.rate, inner)

    def gaussian_mu(self) -> float:
        """That of the child: a mixture needs no larger one."""
        return self.child.gaussian_mu()

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """E(1 - r + r LR - g)+ = r E(LR - h)+ with h = 1 + (g - 1)/r, and likewise reversed."""
        if not reverse:
            inner = unmixed_loss(self.rate, epsilon)
            if inner == -math.inf:
                return -math.expm1(epsilon)
            value = self.child.closed_form(inner, reverse=False)
            return None if value is None else self.rate * value
        if epsilon < SMALLEST_EPSILON:
            # The factor e^epsilon r h is 1 up to rounding.
            return self.child.closed_form(epsilon + math.log(self.rate), reverse=True)
        log_level = unmixed_loss(self.rate, -epsilon)
        if log_level == -math.inf:
            return 0.0 if self.child.closed_form(0.0, reverse=True) is not None else None
        value = self.child.closed_form(-log_level, reverse=True)
        return None if value is None else math.exp(epsilon + log_level) * self.rate * value


# What LR may have lost to floating point before it is conditioned; afterwards it counts 1/rate
# times.
RATIO_ROUNDING = 1e-13


@dataclass(frozen=True)
class Conditioned(Expression):
    """The pair (P', Q) where the child is ((1 - rate) Q + rate P', Q).

    LR becomes (LR - 1 + rate) / rate, as in [FeldmanShenfeld25, Theorem 4.1]. The map is affine and
    increasing, so upper and lower bounds stay what they are.
    """

    child: Expression
    rate: float

    @property
    def lower_composes(self) -> bool:
        """As for the child."""
        return self.child.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atom by atom; the child's tails may only be cut by `rate` times what may be lost here."""
        law = condition(self.child.law(side, resolution.scaled(tail=self.rate)), self.rate)
        return law if side is Side.LOWER else _with_error(law, RATIO_ROUNDING / self.rate)

    def levels(self) -> int:
        """No rounding of its own."""
        return self.child.levels()


def _with_error(law: Law, error: float) -> Law:
    """LR moved away from 1 by the error, which is relative above 1 and absolute below.

    Below 1 it may leave nothing; a ratio that is mostly error would otherwise pass for a bound.
    """
    with np.errstate(divide="ignore", over="ignore"):
        lowered = law.loss + np.log1p(-np.minimum(error * np.exp(-law.loss), 1.0))
    return spread_outwards(law, np.where(law.loss >= 0, law.loss + error, lowered))


@dataclass(frozen=True)
class Allocated(Expression):
    """LR becomes the average of `steps` independent copies [FeldmanShenfeld25, Lemma 3.1]."""

    child: Expression
    steps: int

    @property
    def lower_composes(self) -> bool:
        """As for the child: averages keep convex order."""
        return self.child.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """O(log steps) pairwise averages of O(N^2)."""
        base = self.child.operand_law(side, resolution.scaled(tail=0.25))
        return average_of_copies(base, self.steps, resolution, side)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """From the moments of one step, exactly; reversed, from the law of the average."""
        if reverse:
            return super().power_moments(largest, reverse=True, resolution=resolution)
        step = self.child.power_moments(largest, reverse=False, resolution=resolution)
        return allocated_moments(step, self.steps)

    def largest_loss(self, *, reverse: bool) -> float:
        """An average is between the extremes."""
        return self.child.largest_loss(reverse=reverse)

    def gaussian_mu(self) -> float:
        """That of the child: a mixture needs no larger one."""
        return self.child.gaussian_mu()

    def levels(self) -> int:
        """Of the child, and of the averages."""
        return self.child.levels() + 1 + rounding_levels(self.steps)


@dataclass(frozen=True)
class Averaged(Expression):
    """LR is the average of independent copies, `count` of each member.

    The example takes part in one of the mechanisms, drawn uniformly, and all of them are run.
    """

    members: tuple[Factor, ...]

    @property
    def lower_composes(self) -> bool:
        """As for the members: averages keep convex order."""
        return all(member.lower_composes for member, _ in self.members)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """The average of each member's copies, then of the members, weighted by their counts."""
        share = resolution.scaled(tail=1 / (2 * len(self.members)))
        pairwise = resolution.scaled(tail=TAIL_SHARE / len(self.members))
        member, have = self.members[0]
        result = member.allocate(have).law(side, share)
        for member, count in self.members[1:]:
            other = member.allocate(count).law(side, share)
            result = average(result, other, have / (have + count), pairwise, side)
            have += count
        return result

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """By the binomial theorem, exactly; reversed, from the law of the average."""
        if reverse:
            return super().power_moments(largest, reverse=True, resolution=resolution)

        def moments(member: Expression, count: int) -> PowerMoments:
            part = member.allocate(count)
            return part.power_moments(largest, reverse=False, resolution=resolution)

        member, have = self.members[0]
        result = moments(member, have)
        for member, count in self.members[1:]:
            result = mixed_moments(result, moments(member, count), have / (have + count))
            have += count
        return result

    def gaussian_mu(self) -> float:
        """The largest one: a mixture needs no larger one."""
        return max(member.gaussian_mu() for member, _ in self.members)

    def levels(self) -> int:
        """Of the deepest member, and of the averages over members."""
        inner = max(member.allocate(count).levels() for member, count in self.members)
        return inner + len(self.members) - 1


def drawn_uniformly(factors: Sequence[Factor]) -> Expression:
    """The pair in normal form: equal members counted; exchanged pairs are averaged first."""
    counts: dict[Expression, int] = {}
    for member, count in factors:
        counts[member] = counts.get(member, 0) + count
    members = tuple(counts.items())
    if len(members) == 1:
        return members[0][0].allocate(members[0][1])
    if all(member.sampled() is not member for member, _ in members):
        return drawn_uniformly([(m.sampled(), count) for m, count in members]).reverse()
    return Averaged(members)


@dataclass(frozen=True)
class Revealed(Expression):
    """The first pair with probability `share`, otherwise the second one, and it is told which.

    The profile is the weighted mean of both, the law of LR under Q their mixture.
    """

    first: Expression
    second: Expression
    share: float

    @property
    def lower_composes(self) -> bool:
        """As for the members: mixtures of laws keep convex order."""
        return self.first.lower_composes and self.second.lower_composes

    def law(self, side: Side, resolution: Resolution) -> Law:
        """All atoms of both, with their weights."""
        laws = [one.law(side, resolution) for one in (self.first, self.second)]
        weights = (self.share, 1 - self.share)
        return joined(
            np.concatenate([law.loss for law in laws]),
            np.concatenate([w * law.p for w, law in zip(weights, laws, strict=True)]),
            np.concatenate([w * law.q for w, law in zip(weights, laws, strict=True)]),
            sum(w * law.p_infinite for w, law in zip(weights, laws, strict=True)),
            sum(w * law.q_zero for w, law in zip(weights, laws, strict=True)),
        )

    def largest_loss(self, *, reverse: bool) -> float:
        """The larger one."""
        members = (self.first, self.second)
        return max(one.largest_loss(reverse=reverse) for one in members)

    def gaussian_mu(self) -> float:
        """The larger one: it dominates both."""
        return max(self.first.gaussian_mu(), self.second.gaussian_mu())

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())
