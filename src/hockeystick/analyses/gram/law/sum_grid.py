"""Grids for the sum so far, matched to its law.

The nodes are those of T = S + (bins to come) / bins, a martingale that ends at LR: its law is that
of a likelihood ratio, and is resolved in the same way. Any grid gives a valid bound.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.grid import matched_grid
from hockeystick._numerics.law import FloatArray, Law, Resolution
from hockeystick.analyses.gram.law.chain_mixture import Mixture, Task

__all__ = ["expected_size", "low_nodes", "probe_nodes", "sum_nodes"]

# The step at fineness 1, relative to the spread and to the root of the number of bins.
SUM_STEP, NATS = 0.5, 8.0
# Of nodes for low sums, in nats, at fineness 1.
LOW_STEP = 0.15
# A grid has room until the number of bins has grown by this factor.
ROOM = 1.2
# A grid has this many steps in all.
STEPS = 14.0
# Where a law is looked at first: around 1, relative to the spread of a term, and geometrically.
PROBE_WIDTH, PROBE_STEP = 0.1, 0.1
SMALLEST_SUM, FARTHEST_BELOW = 1e-300, 40.0


def expected_size(task: Task[Mixture]) -> float:
    """About how many nodes a grid has."""
    return STEPS * math.sqrt(task.mixture.bins) / (SUM_STEP * task.fineness)


def probe_nodes(task: Task[Mixture], top: float, left: float) -> FloatArray:
    """Values of T from the smallest one on, fine around 1 and geometric far away."""
    mixture = task.mixture
    width = PROBE_WIDTH * math.sqrt(min(mixture.signal, 1.0)) / mixture.bins
    highest = math.asinh(max(top, 2.0) / width)
    u = np.arange(-math.asinh(1 / width), highest + 2 * PROBE_STEP, PROBE_STEP)
    around = 1.0 + width * np.sinh(u)
    # Sums far below their mean are far apart as likelihood ratios.
    towards = left + (1.0 - left) * np.exp(np.arange(-FARTHEST_BELOW, 0.0, PROBE_STEP))
    t = np.union1d(around, towards)
    return np.concatenate(([left], t[t > left]))


def sum_nodes(task: Task[Mixture], t: FloatArray, seen: FloatArray, done: int) -> FloatArray:
    """Values of T for the next few bins, given the masses between probe nodes after `done` bins."""
    if not seen.any():
        return np.ones(1)
    bins, tail = task.mixture.bins, task.tail
    q = seen / seen.sum()
    # Masses were moved to the node below: a law that ends at a node ends at the next one.
    loss = np.log(np.maximum(t, SMALLEST_SUM))
    q[1:] = (q[1:] + q[:-1]) / 2
    loss, q = loss[q > 0], q[q > 0]
    growth = math.sqrt(min(ROOM * done, bins) / done)
    centre = float(q @ loss)
    loss = centre + growth * (loss - centre)
    like = Law(loss, q * np.exp(loss), q)
    low = float(loss[min(int(np.searchsorted(np.cumsum(q), tail)), loss.size - 1)])
    right = np.cumsum(like.p[::-1])[::-1]
    high = float(loss[min(int(np.searchsorted(-right, -tail)), loss.size - 1)])
    resolution = Resolution(SUM_STEP * task.fineness / math.sqrt(bins), tail, NATS)
    nodes: FloatArray = np.exp(matched_grid(like, low, max(high, low + 1e-9), resolution))
    return nodes


def low_nodes(task: Task[Mixture], t: FloatArray, seen: FloatArray) -> FloatArray:
    """Values of S far below the mean, which decide the add direction at a large epsilon.

    They are geometric in S itself: beside the bins to come, T would not tell them apart.
    """
    if task.remove or not seen.any():
        return np.empty(0)
    left = t[0]
    s, q = t[1:] - left, seen[1:] / seen.sum()
    s, q = s[q > 0], q[q > 0]
    below = np.cumsum(q)
    if not s.size or below[-1] <= task.tail:
        return np.empty(0)
    low = math.log(float(s[int(np.searchsorted(below, task.tail))]))
    middle = math.log(float(s[int(np.searchsorted(below, below[-1] / 2))]))
    wanted = LOW_STEP * task.fineness
    count = max(2, math.ceil((middle - low) / wanted))
    result: FloatArray = np.exp(np.linspace(low, middle, count))
    return result
