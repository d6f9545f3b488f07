"""Checks of the corners from which users build curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.polygons import Nodes, lower_hull

__all__ = ["curve_corners", "tradeoff_corners"]

# How far a corner may lie on the wrong side of convexity or of the diagonal.
SHAPE_TOLERANCE = 1e-12


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
    """Corners of a trade-off function: convex, from 0 on, at most 1 - alpha, 0 at the end."""
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
    """Corners of a privacy profile: convex, from (0, 1) on, at least 1 - gamma."""
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
