"""Where the nodes of states and of sums are placed. Any nodes give a valid bound.

States: removing depends on large likelihood ratios and adding on small ones. There neighbours are
equally far apart; on the other side of the centre their distance grows.

Sums: the nodes are those of T = S + (bins to come) / bins, a martingale that ends at LR: its law is
that of a likelihood ratio, and is resolved in the same way.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, matched_grid
from hockeystick.analyses.gram.law.task import LatticeSettings, MarkovMixture, Task

__all__ = [
    "expected_size",
    "low_nodes",
    "part_nodes",
    "probe_nodes",
    "reach",
    "spaced_nodes",
    "sum_nodes",
]

# The logarithm of a sum of 0.
SMALLEST_SUM = 1e-300


def reach(task: Task[MarkovMixture]) -> tuple[float, float]:
    """The ends of a lattice for N(0, 1), also as seen with the example present."""
    tail = quantile_of_tail(task.tail)
    if not task.remove:
        return -tail, tail
    spread = task.mixture.signal
    return -tail, task.mixture.shift + math.sqrt(tail**2 + spread)


def spaced_nodes(
    low: float,
    high: float,
    *,
    step: float,
    remove: bool,
    fewest: int,
    settings: LatticeSettings,
    expensive: bool = False,
) -> FloatArray:
    """From `low` to `high`, in standard deviations; `step` is the smallest distance, or less.

    Further apart on the side that decides little; where nodes are `expensive`, slowly on the other
    side as well.
    """
    z = np.linspace(low, high, settings.density_points)
    away = -z if remove else z
    density = np.exp(-(np.clip(away, 0.0, settings.farthest) ** 2) / settings.slowness)
    if expensive:
        density *= np.exp(-(np.maximum(-away, 0.0) ** 2) / settings.expensive_slowness)
    position = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    position *= (high - low) / (2 * (settings.density_points - 1))
    count = min(max(math.ceil(float(position[-1]) / step) + 1, fewest), settings.most_nodes)
    nodes: FloatArray = np.interp(np.linspace(0.0, position[-1], count), position, z)
    return nodes


def part_nodes(task: Task[MarkovMixture], variance: float, step: float) -> FloatArray:
    """Nodes for a part N(0, variance) that is drawn once; `step` is in standard deviations."""
    sd, settings = math.sqrt(variance), task.lattices
    low, high = reach(task)
    step = min(
        settings.widest_part,
        step * task.fineness,
        settings.widest_part_nats * task.fineness / sd,
    )
    return sd * spaced_nodes(
        low,
        high,
        step=step,
        remove=task.remove,
        fewest=settings.fewest_part_nodes,
        settings=settings,
    )


def expected_size(task: Task[MarkovMixture]) -> float:
    """About how many nodes a grid of sums has."""
    settings = task.lattices
    return settings.grid_steps * math.sqrt(task.mixture.bins) / (settings.sum_step * task.fineness)


def probe_nodes(task: Task[MarkovMixture], top: float, left: float) -> FloatArray:
    """Values of T from the smallest one on, fine around 1 and geometric far away."""
    mixture, settings = task.mixture, task.lattices
    width = settings.probe_width * math.sqrt(min(mixture.signal, 1.0)) / mixture.bins
    step = settings.probe_step
    highest = math.asinh(max(top, 2.0) / width)
    u = np.arange(-math.asinh(1 / width), highest + 2 * step, step)
    around = 1.0 + width * np.sinh(u)
    # Sums far below their mean are far apart as likelihood ratios.
    towards = left + (1.0 - left) * np.exp(np.arange(-settings.farthest_below, 0.0, step))
    t = np.union1d(around, towards)
    return np.concatenate(([left], t[t > left]))


def sum_nodes(
    task: Task[MarkovMixture], t: FloatArray, probed: FloatArray, done: int
) -> FloatArray:
    """Values of T for the next few bins, from the masses between probe nodes after `done` bins."""
    if not probed.any():
        return np.ones(1)
    bins, tail, settings = task.mixture.bins, task.tail, task.lattices
    q = probed / probed.sum()
    # Masses were moved to the node below: a law that ends at a node ends at the next one.
    loss = np.log(np.maximum(t, SMALLEST_SUM))
    q[1:] = (q[1:] + q[:-1]) / 2
    loss, q = loss[q > 0], q[q > 0]
    growth = math.sqrt(min(settings.room * done, bins) / done)
    centre = float(q @ loss)
    loss = centre + growth * (loss - centre)
    like = Law(loss, q * np.exp(loss), q)
    low = float(loss[min(int(np.searchsorted(np.cumsum(q), tail)), loss.size - 1)])
    right = np.cumsum(like.p[::-1])[::-1]
    high = float(loss[min(int(np.searchsorted(-right, -tail)), loss.size - 1)])
    step = settings.sum_step * task.fineness / math.sqrt(bins)
    resolution = Resolution(step, tail, settings.sum_nats)
    nodes: FloatArray = np.exp(matched_grid(like, low, max(high, low + 1e-9), resolution))
    return nodes


def low_nodes(task: Task[MarkovMixture], t: FloatArray, probed: FloatArray) -> FloatArray:
    """Values of S far below the mean, which decide the add direction at a large epsilon.

    They are geometric in S itself: beside the bins to come, T would not tell them apart.
    """
    if task.remove or not probed.any():
        return np.empty(0)
    left = t[0]
    s, q = t[1:] - left, probed[1:] / probed.sum()
    s, q = s[q > 0], q[q > 0]
    below = np.cumsum(q)
    if not s.size or below[-1] <= task.tail:
        return np.empty(0)
    low = math.log(float(s[int(np.searchsorted(below, task.tail))]))
    middle = math.log(float(s[int(np.searchsorted(below, below[-1] / 2))]))
    wanted = task.lattices.low_step * task.fineness
    count = max(2, math.ceil((middle - low) / wanted))
    result: FloatArray = np.exp(np.linspace(low, middle, count))
    return result
