"""The compiled loops, written in plain Python as one would explain them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from references.outcomes import exact, number

__all__ = ["accumulate_linear", "accumulate_log", "convex_minorant", "suffix_sums"]


def cell_of(nodes: Sequence[float], value: float) -> int:
    """The cell [nodes_k, nodes_(k+1)) of the value; outer cells are closed by the ends."""
    inside = [k for k in range(len(nodes) - 1) if nodes[k] <= value]
    return max(inside, default=0)


def accumulate_linear(
    alpha: Sequence[float],
    beta: Sequence[float],
    q_a: Sequence[float],
    v_b: Sequence[float],
    q_b: Sequence[float],
    *,
    nodes: Sequence[float],
    skip_first: bool,
) -> tuple[list[float], list[float]]:
    """Mass and first moment of each cell, pair by pair."""
    mass = [[0.0] for _ in nodes[:-1]]
    excess = [[0.0] for _ in nodes[:-1]]
    for i, j in itertools.product(range(len(alpha)), range(len(v_b))):
        if skip_first and i == j == 0:
            continue
        value = alpha[i] + beta[i] * v_b[j]
        k = cell_of(nodes, value)
        mass[k].append(q_a[i] * q_b[j])
        excess[k].append(q_a[i] * q_b[j] * (value - nodes[k]))
    return [math.fsum(m) for m in mass], [math.fsum(e) for e in excess]


def accumulate_log(
    a: Any, b: Any, nodes: Sequence[float]
) -> tuple[list[float], list[float], list[float]]:
    """Main mass of each cell of the product, its upper share, and what remains of P-mass.

    The upper share belongs to the upper node; the rest is what is left at the lower node's ratio.
    """
    main = [exact.mpf(0) for _ in nodes[:-1]]
    up = [exact.mpf(0) for _ in nodes[:-1]]
    remaining = [exact.mpf(0) for _ in nodes[:-1]]
    for i, j in itertools.product(range(len(a.loss)), range(len(b.loss))):
        loss = a.loss[i] + b.loss[j]
        k = cell_of(nodes, loss)
        low, x, high = (exact.exp(number(at)) for at in (nodes[k], loss, nodes[k + 1]))
        q_share = (x - low) / (high - low)
        if nodes[k] >= 0:
            mass, share = number(a.p[i]) * number(b.p[j]), q_share * high / x
            remaining[k] += mass * low / x
        else:
            mass, share = number(a.q[i]) * number(b.q[j]), q_share
        main[k] += mass
        up[k] += mass * share
    floats = [[float(value) for value in sums] for sums in (main, up, remaining)]
    return floats[0], floats[1], floats[2]


def suffix_sums(loss: Sequence[float], p: Sequence[float]) -> tuple[list[float], list[float]]:
    """Both sums, for each atom over all atoms above it."""
    calls, slopes = [], []
    for k in range(len(loss)):
        above = range(k, len(loss))
        calls.append(math.fsum(-p[j] * math.expm1(loss[k] - loss[j]) for j in above))
        slopes.append(math.fsum(p[j] * math.exp(loss[k] - loss[j]) for j in above))
    return calls, slopes


def convex_minorant(x: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The largest convex function below the given values, at every x: the lowest chord."""
    minorant = []
    for j in range(len(x)):
        chords = [values[j]]
        for i, k in itertools.product(range(j), range(j + 1, len(x))):
            share = (x[j] - x[i]) / (x[k] - x[i])
            chords.append(values[i] + share * (values[k] - values[i]))
        minorant.append(min(chords))
    return minorant
