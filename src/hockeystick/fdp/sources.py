"""Trade-off functions from profiles, from masses and from densities."""

from __future__ import annotations

from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.divergence import tradeoff_from_law
from hockeystick._numerics.law import FloatArray, Resolution, Side
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.quadrature import checked_edges, gauss_legendre
from hockeystick.fdp.trade_off import TradeOff
from hockeystick.profile import Profile
from hockeystick.profile.expressions import constructors
from hockeystick.profile.refinement import Bounds, Laws, Question

__all__ = ["from_densities", "from_pmfs", "from_profile"]

# The tail that is cut from a profile's law (and charged), and how its grid thins out there.
TAIL, NATS = 1e-20, 8.0
# Where the two sides of a profile are compared.
LEVELS = np.concatenate(([0.0], np.logspace(-6, -1, 101), np.linspace(0.1, 1.0, 181)[1:]))
ANY_RESOLUTION = Resolution(step=1.0, tail=TAIL, nats=NATS)


def from_profile(profile: Profile, *, accuracy: float = 1e-4) -> TradeOff:
    """The polygon of a profile's law, on the profile's own side of the truth.

    An upper profile (the default) gives a lower bound on the trade-off function, as a privacy
    statement has to be. The grid is refined until both sides agree to `accuracy`, which is
    absolute.
    """
    accuracy = check.relative_accuracy("accuracy", accuracy)
    found: dict[str, Laws] = {}

    def read(laws: Laws) -> Bounds:
        found["laws"] = laws
        gap = tradeoff_from_law(laws.lower, LEVELS) - tradeoff_from_law(laws.upper, LEVELS)
        return Bounds(0.0, float(np.max(np.abs(gap))))

    profile.evaluator.answer(
        Question(
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
    """The exact trade-off function of a discrete pair, from the masses of the same outcomes."""
    return TradeOff.of_law(constructors.from_pmfs(p, q).law(Side.UPPER, ANY_RESOLUTION))


def from_densities(p: Any, q: Any, *, edges: Any, nodes: int = 8) -> TradeOff:
    """The trade-off function of a continuous pair seen through the cells between `edges`.

    `p` and `q` are densities: functions of an array, integrated over each cell by `nodes` points of
    Gauss and Legendre, or arrays of one density for each cell. Masses outside the edges are lost
    and the rest is scaled to one. Seeing only cells hides something from the attacker, so the
    result is an upper bound on f up to the errors of quadrature and of the missing tails: good for
    pictures and comparisons, never a privacy statement. Its bound is "estimate".
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
