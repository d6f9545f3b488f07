"""Trade-off functions from profiles, masses, densities and samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.divergence import tradeoff_from_law
from hockeystick._numerics.law import FloatArray, Resolution, Side
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.polygons import Nodes, law_of_nodes, lower_hull
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile
from hockeystick.profile.expressions import discrete
from hockeystick.profile.refinement import Bounds, Laws, Quantity

__all__ = [
    "TradeOffEstimate",
    "checked_edges",
    "estimate",
    "from_densities",
    "from_pmfs",
    "from_profile",
    "gauss_legendre",
]

# The tail that is cut from a profile's law (and charged), and how its grid thins out there.
TAIL, NATS = 1e-20, 8.0
# Where the two sides of a profile are compared.
LEVELS = np.concatenate(([0.0], np.logspace(-6, -1, 101), np.linspace(0.1, 1.0, 181)[1:]))
# Discrete pairs are exact at any resolution.
ANY_RESOLUTION = Resolution(step=1.0, tail=TAIL, nats=NATS)


def from_profile(profile: Profile, *, accuracy: float = 1e-4) -> TradeOff:
    """The polygon of a profile's law, on the profile's own side of the truth.

    An upper profile (the default) gives a lower bound on the trade-off function, as a privacy
    statement has to be.

    Parameters
    ----------
    profile
        The profile.
    accuracy
        Absolute: the grid is refined until both sides agree to this.

    Returns
    -------
    TradeOff
        With the bound "lower" for an upper profile.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.fdp.from_profile(hs.Profile.gaussian(noise_multiplier=1.0), accuracy=1e-3)
    >>> f.bound, abs(f(0.05) - hs.fdp.gdp(1.0)(0.05)) < 1e-3
    ('lower', True)
    """
    accuracy = check.relative_accuracy("accuracy", accuracy)
    found: dict[str, Laws] = {}

    def read(laws: Laws) -> Bounds:
        found["laws"] = laws
        gap = tradeoff_from_law(laws.lower, LEVELS) - tradeoff_from_law(laws.upper, LEVELS)
        return Bounds(0.0, float(np.max(np.abs(gap))))

    profile.evaluator.answer(
        Quantity(
            name="the trade-off function",
            read=read,
            gap=lambda bounds: bounds.upper / accuracy,
            tail=TAIL,
            nats=NATS,
            accuracy=accuracy,
        )
    )
    laws = found["laws"]
    if profile.bound == "upper":
        return TradeOff.of_law(laws.upper, bound="lower")
    return TradeOff.of_law(laws.lower, bound="upper")


def from_pmfs(p: Any, q: Any) -> TradeOff:
    """The exact trade-off function of a discrete pair.

    Parameters
    ----------
    p, q
        Masses of the same outcomes under P and under Q.

    Returns
    -------
    TradeOff
        Exact.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.fdp.from_pmfs([0.75, 0.25], [0.25, 0.75])(0.25)
    0.25
    """
    return TradeOff.of_law(discrete.from_pmfs(p, q).law(Side.UPPER, ANY_RESOLUTION))


def from_densities(p: Any, q: Any, *, edges: Any, nodes: int = 8) -> TradeOff:
    """The trade-off function of a continuous pair seen through the cells between `edges`.

    Masses outside the edges are lost and what is left is scaled to one. Seeing only cells hides
    something from the attacker, so the result is an upper bound on f up to the errors of quadrature
    and of the missing tails: good for pictures and comparisons, never a privacy statement.

    Parameters
    ----------
    p, q
        Densities: functions of an array, or arrays of one density for each cell.
    edges
        At least two increasing numbers.
    nodes
        Points of Gauss and Legendre in each cell, for functions.

    Returns
    -------
    TradeOff
        With the bound "estimate".

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.fdp.from_densities([1.0, 3.0], [3.0, 1.0], edges=[0.0, 1.0, 2.0])
    >>> f(0.25), f.bound
    (0.25, 'estimate')
    """
    grid = checked_edges(edges)
    masses = [_cell_masses(name, one, grid, nodes) for name, one in (("p", p), ("q", q))]
    return TradeOff.of_law(from_pmfs(*masses).law, bound="estimate")


def _cell_masses(name: str, density: Any, edges: FloatArray, nodes: int) -> FloatArray:
    """The mass of each cell, scaled so that they sum to one."""
    width = np.diff(edges)
    if callable(density):
        points, weights = gauss_legendre(edges, nodes=nodes)
        masses = (np.asarray(density(points), dtype=np.float64) * weights).sum(axis=1)
    else:
        values = check.vector(name, density)
        if values.shape != width.shape:
            raise InvalidParameter(name, f"one density for each cell ({width.size})", values.size)
        masses = values * width
    if not (np.all(masses >= 0) and 0 < masses.sum() < np.inf):
        raise InvalidParameter(name, "a density: not negative, with a finite integral", density)
    scaled: FloatArray = masses / masses.sum()
    return scaled


def checked_edges(edges: Any) -> FloatArray:
    """At least two increasing numbers."""
    grid = check.vector("edges", edges)
    if grid.ndim != 1 or grid.size < 2 or not np.all(np.diff(grid) > 0):
        raise InvalidParameter("edges", "at least two increasing numbers", edges)
    return grid


def gauss_legendre(edges: FloatArray, *, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights, one row for each cell; exact for polynomials up to order 2 nodes - 1."""
    points, weights = np.polynomial.legendre.leggauss(check.positive_integer("nodes", nodes))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return middle[:, None] + half[:, None] * points, half[:, None] * weights


@dataclass(frozen=True)
class TradeOffEstimate:
    """An estimated trade-off function between its confidence bounds.

    With probability `confidence` over the samples `lower` and `upper` hold at every alpha at once:
    `upper` for the pair's own trade-off function, `lower` for tests that threshold the scores, and
    so for the pair itself only if its likelihood ratio increases with the score. All three have the
    bound "estimate": none can be turned into a profile.

    Attributes
    ----------
    estimate, lower, upper : TradeOff
        The estimate and its bounds.
    confidence : float
        As given.
    """

    estimate: TradeOff
    lower: TradeOff
    upper: TradeOff
    confidence: float


def estimate(p_scores: Any, q_scores: Any, *, confidence: float = 0.95) -> TradeOffEstimate:
    """An estimate of T[Q, P] from scores drawn under P and under Q; never a privacy guarantee.

    The tests are "score above t" for every t, and mixtures of them. Both empirical distribution
    functions are within sqrt(log(4 / (1 - confidence)) / (2 n)) of the true ones (Dvoretzky, Kiefer
    and Wolfowitz with Massart's constant, half of the failure probability each), which moves every
    point of the curve by at most that much in either coordinate. O(n log n).

    Parameters
    ----------
    p_scores, q_scores
        Drawn with the example, and without it.
    confidence
        In (0, 1): with which both bounds hold everywhere.

    Returns
    -------
    TradeOffEstimate
        The estimate between its bounds.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.fdp.estimate([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0])
    >>> found.estimate(0.25), found.lower(0.25) <= found.upper(0.25)
    (0.5, True)
    """
    with_example, without = _scores("p_scores", p_scores), _scores("q_scores", q_scores)
    confidence = check.small_probability("confidence", confidence)
    thresholds = np.unique(np.concatenate((with_example, without)))
    # "Above t" for t below all scores, and at each of them.
    alpha = np.concatenate(([1.0], _above(without, thresholds)))
    beta = np.concatenate(([0.0], 1.0 - _above(with_example, thresholds)))
    slack_p, slack_q = (_dkw(one.size, 1 - confidence) for one in (with_example, without))
    return TradeOffEstimate(
        estimate=_hull(alpha, beta),
        lower=_hull(alpha - slack_q, beta - slack_p),
        upper=_hull(alpha + slack_q, beta + slack_p),
        confidence=confidence,
    )


def _scores(name: str, values: Any) -> FloatArray:
    scores = check.vector(name, values)
    if scores.ndim != 1 or not scores.size:
        raise InvalidParameter(name, "a vector of at least one score", values)
    return np.sort(scores)


def _above(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The share of the scores above each threshold."""
    share: FloatArray = 1.0 - np.searchsorted(scores, thresholds, side="right") / scores.size
    return share


def _dkw(count: int, failure: float) -> float:
    return math.sqrt(math.log(4 / failure) / (2 * count))


def _hull(alpha: FloatArray, beta: FloatArray) -> TradeOff:
    """The convex envelope of points and of guessing, inside the unit square."""
    x = np.clip(np.concatenate((alpha, [0.0, 1.0])), 0.0, 1.0)
    y = np.clip(np.concatenate((beta, [1.0, 0.0])), 0.0, 1.0)
    hull = lower_hull(Nodes(x, y))
    # Points above the diagonal never stay: (0, 1) and (1, 0) are among the points.
    first_zero = int(np.argmax(hull.y <= 0))
    kept = slice(0, first_zero + 1)
    return TradeOff.of_law(law_of_nodes(Nodes(hull.x[kept], hull.y[kept])), bound="estimate")
