"""Trade-off functions and privacy curves of discrete pairs, exact and piecewise linear.

Both are views of one law of the likelihood ratio. As in `Profile.tradeoff`, Q (without the example)
is the null hypothesis and P (with it) the alternative: f = T[Q, P] and H(g) = D_g[P || Q]. The
paper [Tran26] writes f for T[P, Q], which is `inverse()` here; order, products, envelopes and
symmetrisation commute with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any, Literal, Self

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray, Law
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.polygons import (
    Nodes,
    curve_corners,
    curve_nodes,
    heights,
    law_of_curve,
    law_of_nodes,
    lower_hull,
    tensor_law,
    tradeoff_corners,
    tradeoff_nodes,
    tradeoff_values,
)
from hockeystick.profile import Profile
from hockeystick.profile.curves import Side as ProfileSide
from hockeystick.profile.expressions.discrete import Atoms

__all__ = ["Bound", "PrivacyCurve", "TradeOff", "greatest_lower_bound"]

Bound = Literal["exact", "lower", "upper", "estimate"]
# What a bound on f is as a bound on H, and the other way round.
MIRRORED: dict[Bound, Bound] = {
    "exact": "exact",
    "lower": "upper",
    "upper": "lower",
    "estimate": "estimate",
}


class _View:
    """A law of the likelihood ratio, and on which side of the truth it is."""

    _law: Law
    bound: Bound

    @classmethod
    def of_law(cls, law: Law, *, bound: Bound = "exact") -> Self:
        """The view of a law whose masses sum to one."""
        self = cls.__new__(cls)
        self._law, self.bound = law, bound
        return self

    @property
    def law(self) -> Law:
        """Atoms of the likelihood ratio dP/dQ."""
        return self._law

    @property
    def corners(self) -> int:
        """How many likelihood ratios there are."""
        return int(self._law.loss.size)


class TradeOff(_View):
    """A trade-off function f: the smallest type II error at each type I error, as a polygon.

    Numbers are exact up to floating point, about 1e-15 absolute; tails far below that belong to
    `Profile`.

    Parameters
    ----------
    alpha
        Type I errors of the corners, increasing from 0.
    beta
        Type II errors of the corners, decreasing to 0, convex, at most 1 - alpha.
    bound
        Whether f is the true function ("exact"), nowhere above it ("lower": a valid privacy
        statement), nowhere below ("upper"), or neither ("estimate").

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.fdp.TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])  # randomized response
    >>> f(0.1)
    0.7
    >>> f.tensor(f).corners, f.symmetrize()(0.1)
    (3, 0.7)
    """

    def __init__(self, alpha: Any, beta: Any, *, bound: Bound = "exact") -> None:
        self._law = law_of_nodes(tradeoff_corners(alpha, beta))
        self.bound = _checked_bound(bound)

    @classmethod
    def identity(cls) -> TradeOff:
        """Perfect privacy: f(alpha) = 1 - alpha."""
        return cls([0.0, 1.0], [1.0, 0.0])

    @cached_property
    def nodes(self) -> Nodes:
        """The corners (alpha, beta)."""
        return tradeoff_nodes(self._law)

    @property
    def alpha(self) -> FloatArray:
        """Type I errors of the corners."""
        return self.nodes.x

    @property
    def beta(self) -> FloatArray:
        """Type II errors of the corners."""
        return self.nodes.y

    def __call__(self, alpha: Any) -> Any:
        """f(alpha), for one number or an array in [0, 1]."""
        levels = check.vector("alpha", alpha, "in [0, 1]")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise InvalidParameter("alpha", "in [0, 1]", alpha)
        value = tradeoff_values(self._law, levels)
        return float(value) if np.ndim(alpha) == 0 else value

    def curve(self) -> PrivacyCurve:
        """The privacy curve of the same pair: H(g) = 1 + f*(-g)."""
        return PrivacyCurve.of_law(self._law, bound=MIRRORED[self.bound])

    def inverse(self) -> TradeOff:
        """The trade-off function with P and Q exchanged: reflected at the diagonal."""
        return TradeOff.of_law(reverse_law(self._law), bound=self.bound)

    def symmetrize(self) -> TradeOff:
        """The convex envelope of min(f, f^-1): valid for both directions."""
        return greatest_lower_bound([self, self.inverse()])

    def tensor(self, other: TradeOff) -> TradeOff:
        """The trade-off function of both pairs observed together.

        Exact while the product of the numbers of corners is at most `polygons.MOST_PAIRS`; beyond
        that it is rounded with the arithmetic of `Profile`, downwards unless the bound is "upper".
        """
        if not isinstance(other, TradeOff):
            raise InvalidParameter("other", "a TradeOff (of gdp(mu), its polygon())", other)
        bound = joint_bound([self.bound, other.bound])
        law, rounded = tensor_law(self._law, other._law, upper=bound != "upper")
        return TradeOff.of_law(law, bound="lower" if rounded and bound == "exact" else bound)

    def power(self, count: int) -> TradeOff:
        """The product of `count` copies, by squaring."""
        count = check.positive_integer("count", count)
        result: TradeOff | None = None
        square = self
        while count:
            if count % 2:
                result = square if result is None else result.tensor(square)
            count //= 2
            if count:
                square = square.tensor(square)
        assert result is not None
        return result

    def to_profile(self) -> Profile:
        """The same pair as a `Profile`: a lower bound on f is an upper bound on H.

        Refused for an estimate, because a profile is a proven bound.
        """
        if self.bound == "estimate":
            raise InvalidParameter("bound", "'exact', 'lower' or 'upper' for a profile", self.bound)
        side: ProfileSide = "lower" if self.bound == "upper" else "upper"
        return Profile(Atoms(self._law), bound=side)

    def __repr__(self) -> str:
        return f"TradeOff({self.corners} likelihood ratios, bound={self.bound!r})"


class PrivacyCurve(_View):
    """A privacy profile H(g) = sup P(S) - g Q(S), as a convex polygon.

    Beyond the last corner H is constant (mass of P where Q has none). H is at least 1 - g.

    Parameters
    ----------
    gamma
        Orders of the corners, increasing from 0.
    height
        H at the corners, decreasing from 1.
    bound
        About H: "upper" is a valid privacy statement.

    Examples
    --------
    >>> import hockeystick as hs
    >>> curve = hs.fdp.PrivacyCurve([0.0, 1.0, 3.0], [1.0, 0.5, 0.0])
    >>> round(curve(2.0), 9)
    0.25
    """

    def __init__(self, gamma: Any, height: Any, *, bound: Bound = "exact") -> None:
        self._law = law_of_curve(curve_corners(gamma, height))
        self.bound = _checked_bound(bound)

    @cached_property
    def nodes(self) -> Nodes:
        """The corners (gamma, height)."""
        return curve_nodes(self._law)

    @property
    def gamma(self) -> FloatArray:
        """Orders of the corners."""
        return self.nodes.x

    @property
    def height(self) -> FloatArray:
        """H at the corners."""
        return self.nodes.y

    def __call__(self, gamma: Any) -> Any:
        """H(gamma), for one number or an array of numbers that are not negative."""
        orders = check.vector("gamma", gamma, "not negative")
        if not np.all(orders >= 0):
            raise InvalidParameter("gamma", "not negative", gamma)
        value = heights(self._law, np.atleast_1d(orders))
        return float(value[0]) if np.ndim(gamma) == 0 else value.reshape(orders.shape)

    def tradeoff(self) -> TradeOff:
        """The trade-off function of the same pair: f(alpha) = 1 + H*(-alpha)."""
        return TradeOff.of_law(self._law, bound=MIRRORED[self.bound])

    def __repr__(self) -> str:
        return f"PrivacyCurve({self.corners} likelihood ratios, bound={self.bound!r})"


def greatest_lower_bound(family: Sequence[TradeOff]) -> TradeOff:
    """The largest trade-off function below all members: the convex envelope of their minimum.

    Equivalently the pointwise maximum of their privacy curves [Tran26, Appendix A.1]. Exact;
    O(n log n) in the number n of corners.

    Parameters
    ----------
    family
        One or more trade-off functions, with bounds on the same side.

    Returns
    -------
    TradeOff
        On that side.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> other = hs.fdp.from_pmfs([0.9, 0.1, 0.0], [0.9, 0.0, 0.1])
    >>> round(hs.fdp.greatest_lower_bound([one, other])(0.2), 9)  # where both are 0.7
    0.65
    """
    if not family:
        raise InvalidParameter("family", "at least one trade-off function", family)
    bound = joint_bound([member.bound for member in family])
    x = np.concatenate([member.alpha for member in family])
    y = np.concatenate([member.beta for member in family])
    return TradeOff.of_law(law_of_nodes(lower_hull(Nodes(x, y))), bound=bound)


def joint_bound(bounds: Sequence[Bound]) -> Bound:
    """The side that a combination of curves is on; both sides at once have none."""

    def join(one: Bound, other: Bound) -> Bound:
        for overriding, overridden in ((one, other), (other, one)):
            if overriding == "estimate" or overridden == "exact":
                return overriding
        if one != other:
            raise InvalidParameter("bound", f"the same for all curves ({one!r}) or 'exact'", other)
        return one

    return reduce(join, bounds)


def _checked_bound(bound: Bound) -> Bound:
    check.choice("bound", bound, MIRRORED)
    return bound
