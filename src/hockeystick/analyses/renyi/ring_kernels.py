"""Compiled dynamic programmes over bins; importing this module imports Numba.

Counts r_k of particles are put into bins one after the other. A state is the total so far and the
counts of the last p - 1 bins, the only ones that a further particle interacts with. In the
coordinates

    u_1 = r_oldest,  u_2 = u_1 + (particles before the window),  u_3 = u_2 + next count, ...,
    u_p = total,

the states with a total of at most A are the sequences u_1 <= u_2 <= ... <= u_p <= A, and
sum_i C(u_i + i - 1, i) numbers them without gaps, u_1 fastest. To add a bin with t particles means
(u_1, ..., u_p) -> (u_3 - u_2, u_3, ..., u_p, u_p + t): the oldest count joins the particles before
the window, so a new state is a sum over u_1 of old ones that are neighbours in memory.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["cluster_weights", "line_weights", "renewal"]

IntArray = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _add_bin(
    old: FloatArray,
    new: FloatArray,
    own: FloatArray,
    pull: FloatArray,
    ways: IntArray,
    most: int,
) -> None:
    """One more bin; weights are logs.

    own[t] is the weight of t particles in the bin, pull[d - 1] what one of them gains from one that
    lies d bins back. ways[n, i] is C(n, i).
    """
    p = pull.size + 1
    v = np.zeros(p + 1, np.int64)  # v[i] is the new u_i, v[0] is not used
    target = 0
    while True:
        # Old coordinates: u_(i+1) = v_i, so the part of the old number that v_2, v_3, ... settle.
        settled = 0
        for i in range(3, p + 1):
            settled += ways[v[i - 1] + i - 1, i]
        for first in range(v[2] + 1):
            v[1] = first
            t = v[p] - v[p - 1] if p > 2 else first
            # The counts of the old window, from the newest to the second oldest.
            gain = 0.0
            for d in range(1, p - 1):
                newer, older = v[p - d], v[p - d - 1]
                gain += pull[d - 1] * (newer - older if p - d > 2 else first)
            outside = v[2] - first
            start = settled + outside * (outside + 1) // 2
            slope = t * pull[p - 2]
            top = -np.inf
            for u in range(outside + 1):
                top = max(top, old[start + u] + slope * u)
            if top == -np.inf:
                new[target] = -np.inf
            else:
                total = 0.0
                for u in range(outside + 1):
                    total += math.exp(old[start + u] + slope * u - top)
                new[target] = top + math.log(total) + t * gain + own[t]
            target += 1
        i = 2
        while i < p and v[i] == v[i + 1]:
            v[i] = 0
            i += 1
        v[i] += 1
        if v[p] > most:
            break


@njit(cache=True, nogil=True)
def _log_sum(values: FloatArray) -> float:
    """log of the sum of exponentials."""
    top = -np.inf
    for value in values:
        top = max(top, value)
    if top == -np.inf:
        return top
    total = 0.0
    for value in values:
        total += math.exp(value - top)
    return top + math.log(total)


@njit(cache=True, nogil=True)
def _by_total(state: FloatArray, ways: IntArray, p: int, most: int) -> FloatArray:
    """log of the sum over all states with the same total."""
    result = np.empty(most + 1)
    end = 0
    for m in range(most + 1):
        start = end
        end += ways[m + p - 1, p - 1]
        result[m] = _log_sum(state[start:end])
    return result


@njit(cache=True, nogil=True)
def _line(
    diagonal: FloatArray, pulls: FloatArray, fields: FloatArray, ways: IntArray, most: int
) -> FloatArray:
    """Sums over all counts with total m, for m <= most, as logs."""
    p = pulls.shape[1] + 1
    size = ways[most + p, p]
    old = np.full(size, -np.inf)
    new = np.empty(size)
    own = np.empty(most + 1)
    old[0] = 0.0
    for k in range(diagonal.size):
        for t in range(most + 1):
            own[t] = t * (t - 1) * diagonal[k] / 2 + t * fields[k] - math.lgamma(t + 1.0)
        _add_bin(old, new, own, pulls[k], ways, most)
        old, new = new, old
    return _by_total(old, ways, p, most)


@njit(cache=True, nogil=True)
def line_weights(
    diagonal: FloatArray,
    pulls: FloatArray,
    fields: FloatArray,
    left: IntArray,
    ways: IntArray,
    most: int,
) -> FloatArray:
    """log of sum over r_1 + ... + r_b = m of the weights, for m <= most, for several fields.

    A bin with r particles weighs e^(r (r - 1) g / 2) / r!. pulls[k, d - 1] is what a pair in the
    bins k and k - d gains, fields[l, k] what a particle in bin k gains on its own. Row l counts up
    to left[l] particles.
    """
    result = np.full((left.size, most + 1), -np.inf)
    for i in range(left.size):
        sums = _line(diagonal, pulls, fields[i], ways, left[i])
        for m in range(sums.size):
            result[i, m] = sums[m]
    return result


@njit(cache=True, nogil=True)
def cluster_weights(
    diagonal: float, pull: FloatArray, ways: IntArray, most: int, longest: int
) -> FloatArray:
    """log weights w[L, a] of connected clusters: a particles in L bins that are all alike.

    The first and the last bin are not empty, and never p - 1 in a row are.
    """
    p = pull.size + 1
    size = ways[most + p, p]
    old = np.full(size, -np.inf)
    new = np.empty(size)
    own = np.empty(most + 1)
    result = np.full((longest + 1, most + 1), -np.inf)
    for t in range(most + 1):
        own[t] = t * (t - 1) * diagonal / 2 - math.lgamma(t + 1.0)
    for t in range(1, most + 1):
        number = ways[t + p - 1, p]
        if p == 2:
            number += t
        old[number] = own[t]
        result[1, t] = own[t]
    for length in range(2, longest + 1):
        _add_bin(old, new, own, pull, ways, most)
        for m in range(most + 1):
            # The state with an empty window: all particles before it.
            empty = 0
            for i in range(2, p + 1):
                empty += ways[m + i - 1, i]
            new[empty] = -np.inf
        _by_total_if_occupied(new, ways, p, result[length])
        old, new = new, old
    return result


@njit(cache=True, nogil=True)
def _by_total_if_occupied(state: FloatArray, ways: IntArray, p: int, result: FloatArray) -> None:
    """log of the sum over all states with the same total whose newest bin is not empty.

    The newest bin is empty if u_(p-1) = u_p, the last states of a total, or u_1 = 0 for p = 2.
    """
    end = 0
    for m in range(result.size):
        start = end
        end += ways[m + p - 1, p - 1]
        stop = end - ways[m + p - 2, p - 2] if p > 2 else end
        begin = start if p > 2 else start + 1
        result[m] = _log_sum(state[begin:stop])


@njit(cache=True, nogil=True)
def renewal(clusters: FloatArray, gap: int, bins: int) -> FloatArray:
    """log weights V[n, m] of m particles in n bins, every cluster followed by `gap` empty bins."""
    longest, most = clusters.shape[0] - 1, clusters.shape[1] - 1
    result = np.full((bins + 1, most + 1), -np.inf)
    result[:, 0] = 0.0
    for n in range(1, bins + 1):
        for m in range(1, most + 1):
            top = result[n - 1, m]
            for length in range(1, min(longest, n - gap) + 1):
                for a in range(1, m + 1):
                    top = max(top, clusters[length, a] + result[n - length - gap, m - a])
            if top == -np.inf:
                continue
            total = math.exp(result[n - 1, m] - top)
            for length in range(1, min(longest, n - gap) + 1):
                for a in range(1, m + 1):
                    total += math.exp(clusters[length, a] + result[n - length - gap, m - a] - top)
            result[n, m] = top + math.log(total)
    return result
