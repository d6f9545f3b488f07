"""Non-uniform grids of losses, matched to the law that they will hold.

The nodes are equidistant in a monotone function G of the loss, the sum of

- an asinh scale around the means under Q and under P: fine at the centre of the law, geometric
  towards far outliers. Rounding adds about step**2 / 6 of the current variance, under every
  exponential tilt of the law, so the relative accuracy does not depend on delta;
- the logarithms of the two tails, divided by `nats`: where a tail falls by a factor, a fixed number
  of nodes follows it. Without this a Gaussian tail, which falls ever faster, would be too coarse.

Any grid gives a valid bound. A good one gives a tight bound, so an approximate law is enough here.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Moments, Resolution, moments

__all__ = ["matched_grid"]

# A law whose spread is far below its range gets at most this ratio between the two.
LARGEST_RATIO = 1e7
# Below this, differences of losses cannot be divided by.
SMALLEST_SPREAD = 1e-300
# Cells wider than this do not contain the loss 0.
WIDE_CELL = 1.0
# At how many points the tails of the approximate law are read.
TAIL_KNOTS = 32
# The approximate law may miss part of a tail; nodes go on to this share of the allowed one.
TAIL_MARGIN = 1e-4


def matched_grid(like: Law, low: float, high: float, resolution: Resolution) -> FloatArray:
    """Increasing nodes that cover [low, high], both ends included, for a law similar to `like`."""
    if not high > low:
        width = max(abs(low), 1.0) * 1e-12
        return np.array([low, low + width])
    floor = resolution.tail * TAIL_MARGIN
    right = np.cumsum(like.p[::-1])[::-1]
    left = np.cumsum(like.q)
    keep = (like.loss > low) & (like.loss < high) & (right > floor) & (left > floor)
    # Both ends belong to the picture: there the tails have fallen to the floor.
    loss = np.concatenate(([low], like.loss[keep], [high]))
    log_tails = np.log(np.concatenate(([floor], left[keep], [1.0])))
    log_tails -= np.log(np.concatenate(([1.0], right[keep], [floor])))
    scale = _asinh_scale(loss, moments(like), high - low)
    # The tails of an approximate law are staircases: follow them only at a few points.
    knots = np.interp(np.linspace(scale[0], scale[-1], TAIL_KNOTS), scale, loss)
    smooth = np.interp(loss, knots, np.interp(knots, loss, log_tails))
    position = scale + smooth / resolution.nats
    count = max(3, int(np.ceil((position[-1] - position[0]) / resolution.step)) + 1)
    nodes = np.interp(np.linspace(position[0], position[-1], count), position, loss)
    nodes[0], nodes[-1] = low, high
    return _with_zero(nodes[np.concatenate(([True], np.diff(nodes) > 0))])


def _with_zero(nodes: FloatArray) -> FloatArray:
    """0 becomes a node if it lies in a wide cell, so that P- and Q-mass never mix over one."""
    after = int(np.searchsorted(nodes, 0.0))
    crosses = 0 < after < nodes.size and nodes[after] > 0
    if crosses and nodes[after] - nodes[after - 1] > WIDE_CELL:
        return np.insert(nodes, after, 0.0)
    return nodes


def _asinh_scale(loss: FloatArray, centre: Moments, width: float) -> FloatArray:
    """An increasing function with slope 1 / hypot(sd, loss - mean) around the nearer mean."""
    floor = max(width / LARGEST_RATIO, SMALLEST_SPREAD)
    scale_q, scale_p = max(centre.sd_q, floor), max(centre.sd_p, floor)
    mean_q, mean_p = centre.mean_q, max(centre.mean_p, centre.mean_q)
    middle = _equidistant(mean_q, scale_q, mean_p, scale_p)
    around_q = np.arcsinh((np.minimum(loss, middle) - mean_q) / scale_q)
    around_p = np.arcsinh((np.maximum(loss, middle) - mean_p) / scale_p)
    total: FloatArray = around_q + around_p
    return total


def _equidistant(mean_q: float, scale_q: float, mean_p: float, scale_p: float) -> float:
    """Where hypot(scale_q, l - mean_q) = hypot(scale_p, l - mean_p), kept between the means."""
    gap = mean_p - mean_q
    if not gap > 1e-9 * max(scale_q, scale_p):
        return mean_q
    middle = (scale_p**2 - scale_q**2 + gap * (mean_p + mean_q)) / (2 * gap)
    return min(max(middle, mean_q), mean_p)
