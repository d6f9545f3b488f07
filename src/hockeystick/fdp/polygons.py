"""Trade-off polygons, profile polygons and the law of the likelihood ratio behind both.

A piecewise-linear trade-off function f and a piecewise-linear profile H describe one and the same
discrete pair. A segment of f with width q and drop p is an atom with likelihood ratio p/q; a corner
of H at g is the atom with likelihood ratio g, and the slope changes there by its Q-mass. That is
the convex conjugate H(g) = 1 + f*(-g), f(a) = 1 + H*(-a) [Tran26, Theorem A.6], written out for
polygons; f is T[Q, P], the inverse of the paper's f.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._numerics.divergence import tradeoff_from_law
from hockeystick._numerics.envelope import deltas
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, joined
from hockeystick.errors import InvalidParameter
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.discrete import Atoms

__all__ = [
    "MOST_PAIRS",
    "Nodes",
    "curve_corners",
    "curve_nodes",
    "heights",
    "law_of_curve",
    "law_of_nodes",
    "lower_hull",
    "tensor_law",
    "tradeoff_corners",
    "tradeoff_nodes",
    "tradeoff_values",
]

# How far a corner may lie on the wrong side of convexity or of the diagonal: sums of masses round.
SHAPE_TOLERANCE = 1e-12
# Up to this many pairs of atoms the product is exact, in tenths of a second; beyond, it is rounded
# to a grid.
MOST_PAIRS = 1_000_000
# That grid: bounds on f differ by about 1e-6, and this much tail is cut and charged.
STEP, TAIL, NATS = 0.004, 1e-25, 8.0


class Nodes(NamedTuple):
    """Corners of a polygon, x increasing."""

    x: FloatArray
    y: FloatArray


def law_of_nodes(nodes: Nodes) -> Law:
    """The law behind a convex trade-off polygon that starts at x = 0."""
    q, p = np.diff(nodes.x), -np.diff(nodes.y)
    inside = (p > 0) & (q > 0)
    # What is left of f below the last node, and any vertical piece, has no Q-mass.
    p_infinite = max(1.0 - float(nodes.y[0]), 0.0) + float(p[(p > 0) & (q <= 0)].sum())
    q_zero = max(1.0 - float(nodes.x[-1]), 0.0) + float(q[p <= 0].sum())
    p, q = p[inside], q[inside]
    return joined(np.log(p / q), p, q, p_infinite, q_zero)


def law_of_curve(nodes: Nodes) -> Law:
    """The law behind a convex profile polygon that starts at (0, 1) and is constant at the end."""
    slope = np.append(-np.diff(nodes.y) / np.diff(nodes.x), 0.0)
    gamma, q = nodes.x[1:], slope[:-1] - slope[1:]
    inside = q > 0
    gamma, q = gamma[inside], q[inside]
    q_zero = max(1.0 - float(slope[0]), 0.0)
    return joined(np.log(gamma), gamma * q, q, float(nodes.y[-1]), q_zero)


def tradeoff_nodes(law: Law) -> Nodes:
    """Corners of the trade-off function, from (0, 1 - P at infinity) to (1, 0)."""
    alpha = np.concatenate(([0.0], np.cumsum(law.q[::-1])))
    beta = np.concatenate((np.cumsum(law.p)[::-1], [0.0]))
    alpha[-1] = 1.0 - law.q_zero
    alpha, beta = np.minimum(alpha, alpha[-1]), np.minimum(beta, 1.0)
    if law.q_zero > 0:
        alpha, beta = np.append(alpha, 1.0), np.append(beta, 0.0)
    return Nodes(alpha, beta)


def curve_nodes(law: Law) -> Nodes:
    """Corners of the profile, from (0, 1) to the last likelihood ratio."""
    with np.errstate(over="ignore"):
        gamma = np.exp(law.loss[(law.p > 0) | (law.q > 0)])
    gamma = np.concatenate(([0.0], gamma[np.isfinite(gamma) & (gamma > 0)]))
    return Nodes(gamma, heights(law, gamma))


def heights(law: Law, gamma: FloatArray) -> FloatArray:
    """H at every g >= 0, from sums of positive terms: small values keep their relative accuracy."""
    with np.errstate(divide="ignore"):
        loss = np.log(gamma)
    delta = deltas(law, np.maximum(loss, -1e4))
    # Below 1 delta is that of the exchanged pair; the other branch must not overflow.
    below = np.minimum(gamma, 1.0)
    small = below * delta + 1.0 - below
    result: FloatArray = np.clip(np.where(gamma >= 1, delta, small), 0.0, 1.0)
    return result


def tradeoff_values(law: Law, alpha: FloatArray) -> FloatArray:
    """f at every alpha in [0, 1]."""
    result: FloatArray = np.clip(tradeoff_from_law(law, alpha), 0.0, 1.0 - alpha)
    return result


def lower_hull(nodes: Nodes) -> Nodes:
    """The lower convex hull of points; of several with one x only the lowest counts.

    The corners of a convex envelope of polygons are corners of the polygons, so this is exact.
    """
    order = np.lexsort((nodes.y, nodes.x))
    kept: list[tuple[float, float]] = []
    for x, y in zip(nodes.x[order].tolist(), nodes.y[order].tolist(), strict=True):
        if kept and x == kept[-1][0]:
            continue
        while len(kept) > 1 and _not_below(kept[-2], kept[-1], (x, y)):
            kept.pop()
        kept.append((x, y))
    found = np.array(kept)
    return Nodes(found[:, 0], found[:, 1])


def _not_below(
    left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]
) -> bool:
    """Whether the middle point lies on or above the chord of its neighbours."""
    rise_before = (middle[1] - left[1]) * (right[0] - middle[0])
    rise_after = (right[1] - middle[1]) * (middle[0] - left[0])
    return rise_before >= rise_after


def _checked_nodes(names: tuple[str, str], x: Any, y: Any) -> Nodes:
    """Two vectors of one length, x increasing from 0, y falling."""
    nodes = Nodes(check.vector(names[0], x), check.vector(names[1], y))
    if nodes.x.ndim != 1 or nodes.x.size < 1 or nodes.x.shape != nodes.y.shape:
        raise InvalidParameter(names[1], f"a vector as long as {names[0]}", y)
    if nodes.x[0] != 0 or not np.all(np.diff(nodes.x) > 0) or not np.isfinite(nodes.x[-1]):
        raise InvalidParameter(names[0], "increasing from 0", x)
    rising = np.append(False, np.diff(nodes.y) > SHAPE_TOLERANCE)
    _refuse(names[1], "decreasing and not negative", nodes, rising | ~(nodes.y >= 0))
    return nodes


def _checked_convex(name: str, nodes: Nodes) -> Nodes:
    """The corners that matter, if none is above the hull."""
    hull = lower_hull(nodes)
    _refuse(name, "convex", nodes, nodes.y > np.interp(nodes.x, hull.x, hull.y) + SHAPE_TOLERANCE)
    return hull


def tradeoff_corners(alpha: Any, beta: Any) -> Nodes:
    """Corners of a trade-off function: convex, from 0 on, at most 1 - alpha, 0 at the end.

    Which functions are trade-off functions: [Tran26, Theorem 2.3].
    """
    nodes = _checked_nodes(("alpha", "beta"), alpha, beta)
    if nodes.x[-1] > 1 + SHAPE_TOLERANCE:
        raise InvalidParameter("alpha", "in [0, 1]", float(nodes.x[-1]))
    # Sums of masses may exceed 1 by rounding.
    nodes = Nodes(np.minimum(nodes.x, 1.0), nodes.y)
    _refuse("beta", "at most 1 - alpha", nodes, nodes.y > 1 - nodes.x + SHAPE_TOLERANCE)
    if nodes.y[-1] > SHAPE_TOLERANCE:
        raise InvalidParameter("beta", "0 at the last corner", float(nodes.y[-1]))
    return _checked_convex("beta", Nodes(nodes.x, np.append(nodes.y[:-1], 0.0)))


def curve_corners(gamma: Any, height: Any) -> Nodes:
    """Corners of a privacy profile: convex, from (0, 1) on, at least 1 - gamma.

    Which functions are privacy profiles: [Tran26, Theorem A.3].
    """
    nodes = _checked_nodes(("gamma", "height"), gamma, height)
    if nodes.y[0] != 1:
        raise InvalidParameter("height", "1 at gamma = 0", float(nodes.y[0]))
    _refuse("height", "at least 1 - gamma", nodes, nodes.y < 1 - nodes.x - SHAPE_TOLERANCE)
    return _checked_convex("height", nodes)


def _refuse(name: str, allowed: str, nodes: Nodes, wrong: NDArray[np.bool_]) -> None:
    """An error about the first wrong corner, if there is one."""
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InvalidParameter(name, allowed, f"{nodes.y[k]:g} at {nodes.x[k]:g}")


def tensor_law(one: Law, other: Law, *, upper: bool) -> tuple[Law, bool]:
    """The law of the product of the likelihood ratios, and whether it had to be rounded.

    Losses add and masses multiply, atom by atom. Rounding is in convex order: `upper` gives a
    profile that is nowhere below the exact one. O(n m log(n m)).
    """
    if one.loss.size * other.loss.size <= MOST_PAIRS:
        return _exact(one, other), False
    side = Side.UPPER if upper else Side.LOWER
    product = compose([(Atoms(one), 1), (Atoms(other), 1)])
    return product.law(side, Resolution(STEP, TAIL, NATS)), True


def _exact(one: Law, other: Law) -> Law:
    loss = np.add.outer(one.loss, other.loss).ravel()
    p, q = np.outer(one.p, other.p).ravel(), np.outer(one.q, other.q).ravel()
    filled = (p > 0) | (q > 0)
    return joined(
        loss[filled],
        p[filled],
        q[filled],
        _either(one.p_infinite, other.p_infinite),
        _either(one.q_zero, other.q_zero),
    )


def _either(one: float, other: float) -> float:
    """The probability that at least one of two independent events happens."""
    return one + other - one * other
