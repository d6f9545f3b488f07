"""Trade-off polygons, profile polygons and the law of the likelihood ratio behind both.

A piecewise-linear trade-off function f and a piecewise-linear profile H describe one and the same
discrete pair. A segment of f with width q and drop p is an atom with likelihood ratio p/q; a corner
of H at g is the atom with likelihood ratio g, and the slope changes there by its Q-mass. That is
the convex conjugate H(g) = 1 + f*(-g), f(a) = 1 + H*(-a), written out for polygons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hockeystick._numerics.divergence import tradeoff_from_law
from hockeystick._numerics.envelope import prices
from hockeystick._numerics.law import FloatArray, Law, joined

__all__ = [
    "Nodes",
    "curve_nodes",
    "heights",
    "law_of_curve",
    "law_of_nodes",
    "lower_hull",
    "tradeoff_nodes",
    "tradeoff_values",
]


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
    price = prices(law, np.maximum(loss, -1e4))
    # Below 1 the price is that of the exchanged pair; the other branch must not overflow.
    below = np.minimum(gamma, 1.0)
    small = below * price + 1.0 - below
    result: FloatArray = np.clip(np.where(gamma >= 1, price, small), 0.0, 1.0)
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
