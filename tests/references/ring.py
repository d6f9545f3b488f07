"""Moments of balls-in-bins mixtures as one would explain them: tuples of bins, dictionaries.

[SchuchardtKalinin26, Lemma 3.2] with the sign of its last term corrected, and Algorithm 1
with lines 27 and 34 corrected. The algorithm closes the ring with all pairs of a bin of the prefix
and a bin of the last window; pairs less than p apart on the line have been joined by then, and
joining them again would count them twice (p = 3, b = 5: bins 1 and 3). Here they are left out.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

__all__ = ["add_divergence", "dictionary_moment", "enumerated_moment", "weakened"]

Window = tuple[int, ...]
States = dict[tuple[int, Window], float]


def enumerated_moment(kernel: Any, order: int) -> float:
    """log E_Q[LR^order] from all b^order tuples of bins; kernel = Gram / variance."""
    rows = [[float(entry) for entry in row] for row in kernel]
    exponents = [
        math.fsum(rows[i][j] for i, j in itertools.combinations(bins, 2))
        for bins in itertools.product(range(len(rows)), repeat=order)
    ]
    top = max(exponents)
    total = math.fsum(math.exp(exponent - top) for exponent in exponents)
    return top + math.log(total) - order * math.log(len(rows))


def dictionary_moment(kernel: Any, bands: int, order: int) -> float:
    """log E_Q[LR^order] for a matrix that is `bands`-banded on a ring of at least 2 bands - 2 bins.

    For each choice of counts in the first bands - 1 bins, the other bins one after the other, from
    every known state to all that follow it.
    """
    b = len(kernel)
    assert b >= 2 * bands - 2
    total = -math.inf
    for prefix in itertools.product(range(order + 1), repeat=bands - 1):
        if sum(prefix) > order:
            continue
        states: States = {(sum(prefix), prefix): _weight(prefix, kernel)}
        for k in range(bands - 1, b):
            states = _with_bin(states, kernel, k, order)
        for (count, window), weight in states.items():
            if count == order:
                closing = _closing(prefix, window, kernel, bands)
                total = _log_add(total, weight + closing)
    return total + math.lgamma(order + 1) - order * math.log(b)


def weakened(kernel: Any, bands: int) -> tuple[list[list[float]], float]:
    """The band of K - tau, not below 0, and tau, the largest entry outside (lines 3 and 4)."""
    b = len(kernel)
    near = [[min(abs(i - j), b - abs(i - j)) < bands for j in range(b)] for i in range(b)]
    pairs = list(itertools.product(range(b), repeat=2))
    tau = max((float(kernel[i][j]) for i, j in pairs if not near[i][j]), default=0.0)
    inside = [[0.0] * b for _ in range(b)]
    for i, j in pairs:
        if near[i][j]:
            inside[i][j] = max(float(kernel[i][j]) - tau, 0.0)
    return inside, tau


def add_divergence(kernel: Any, order: int) -> float:
    """The bound of Lemma 3.4 on the Renyi divergence of the add direction."""
    b = len(kernel)
    diagonal = math.fsum(float(kernel[i][i]) for i in range(b))
    whole = math.fsum(float(entry) for row in kernel for entry in row)
    return diagonal / (2 * b) + (order - 1) * whole / (2 * b**2)


def _with_bin(states: States, kernel: Any, k: int, order: int) -> States:
    """One more bin, with every count that is still possible."""
    following: States = {}
    for (count, window), weight in states.items():
        behind = len(window)
        pull = sum(float(kernel[k][k - behind + i]) * r for i, r in enumerate(window))
        for t in range(order - count + 1):
            gain = float(kernel[k][k]) * t * (t - 1) / 2 + pull * t - math.lgamma(t + 1)
            state = count + t, ((*window[1:], t) if behind else ())
            following[state] = _log_add(following.get(state, -math.inf), weight + gain)
    return following


def _weight(counts: Window, kernel: Any) -> float:
    """Of the first bins alone."""
    own = sum(float(kernel[i][i]) * r * (r - 1) / 2 for i, r in enumerate(counts))
    pairs = itertools.combinations(range(len(counts)), 2)
    joint = sum(float(kernel[i][j]) * counts[i] * counts[j] for i, j in pairs)
    return own + joint - sum(math.lgamma(r + 1) for r in counts)


def _closing(prefix: Window, window: Window, kernel: Any, bands: int) -> float:
    """What the last bins gain from the first ones across the end of the line."""
    b = len(kernel)
    last = range(b - len(window), b)
    return sum(
        float(kernel[i][j]) * prefix[i] * r
        for i in range(len(prefix))
        for j, r in zip(last, window, strict=True)
        if j - i >= bands
    )


def _log_add(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    low, high = min(a, b), max(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
