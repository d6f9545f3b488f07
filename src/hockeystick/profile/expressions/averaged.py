"""One of several mechanisms of different kinds, drawn uniformly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick._numerics.averaging import average
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.moments import PowerMoments, mixed_moments
from hockeystick._numerics.powers import TAIL_SHARE
from hockeystick.profile.expressions.base import Expression, Factor

__all__ = ["Averaged", "drawn_uniformly"]


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
