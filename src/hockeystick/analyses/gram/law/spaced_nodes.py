"""Nodes for a normal variable, further apart on the side that decides nothing.

Removing asks for large likelihood ratios and adding for small ones: there neighbours are equally
far apart, or where nodes are dear nearly so. On the other side of the centre their distance grows,
since what is rounded there is hardly seen. Any nodes give a bound; about a quarter of them is saved
at the same accuracy.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["MOST_NODES", "spaced_nodes"]

# At d standard deviations, up to the farthest, the distance is e^(d^2 / SLOWNESS) times that at 0;
# where nodes are dear, e^(d^2 / DEAR) on the side that decides.
SLOWNESS, FARTHEST, DEAR = 8.0, 3.5, 28.0
# At how many points the distance is looked at; and how many nodes there may be.
POINTS, MOST_NODES = 1_000, 700


def spaced_nodes(
    low: float, high: float, *, step: float, remove: bool, fewest: int, dear: bool = False
) -> FloatArray:
    """From `low` to `high`, in standard deviations; `step` is the smallest distance, or less.

    There are never more than `MOST_NODES`.
    """
    z = np.linspace(low, high, POINTS)
    away = -z if remove else z
    density = np.exp(-(np.clip(away, 0.0, FARTHEST) ** 2) / SLOWNESS)
    if dear:
        density *= np.exp(-(np.maximum(-away, 0.0) ** 2) / DEAR)
    position = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    position *= (high - low) / (2 * (POINTS - 1))
    count = min(max(math.ceil(float(position[-1]) / step) + 1, fewest), MOST_NODES)
    nodes: FloatArray = np.interp(np.linspace(0.0, position[-1], count), position, z)
    return nodes
