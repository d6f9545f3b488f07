"""Strategies by dense matrices: roots, errors and sensitivities as their definitions say."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import sqrtm, toeplitz
from scipy.optimize import minimize

from hockeystick.randomness import Key
from hockeystick.strategies.chacha import cipher_head
from hockeystick.strategies.normals import fill_normal

__all__ = [
    "dense",
    "drawn",
    "error_times_sensitivity",
    "generic_minimum",
    "patterns",
    "prefix_root",
    "row_errors",
    "worst_length",
]

Array = Any


def dense(column: Array, n: int) -> Array:
    """The lower-triangular Toeplitz matrix with this first column, zeros below."""
    first = np.zeros(n)
    first[: len(column)] = column
    return toeplitz(first, np.zeros(n))


def prefix_root(n: int) -> Array:
    """The square root of the prefix-sum matrix, by a general matrix function."""
    return np.real(sqrtm(np.tril(np.ones((n, n)))))


def row_errors(C: Array, workload: Array) -> Array:
    """Squared lengths of the rows of A C^-1."""
    return ((dense(workload, len(C)) @ np.linalg.inv(C)) ** 2).sum(axis=1)


def patterns(n: int, separation: int, participations: int | None) -> Iterator[tuple[int, ...]]:
    """Every non-empty set of steps that far apart, of at most that size."""
    for size in range(1, min(n, participations or n) + 1):
        for steps in itertools.combinations(range(n), size):
            if all(b - a >= separation for a, b in itertools.pairwise(steps)):
                yield steps


def worst_length(C: Array, separation: int, participations: int | None) -> float:
    """The largest length of a sum of columns over every pattern."""
    return max(
        float(np.linalg.norm(C[:, list(steps)].sum(axis=1)))
        for steps in patterns(len(C), separation, participations)
    )


def error_times_sensitivity(C: Array, workload: Array, error: str, steps: list[int]) -> float:
    """Squared error times the squared length of the sum of these columns."""
    rows = row_errors(C, workload)
    worst = rows.mean() if error == "mean" else rows.max()
    return float(worst * (C[:, steps].sum(axis=1) ** 2).sum())


def generic_minimum(
    function: Callable[[Array], float],
    size: int,
    *,
    seed: int,
    bounds: tuple[float, float | None] = (0.0, None),
    starts: int = 4,
) -> float:
    """The smallest value that numerical gradients find from random starts."""
    rng = np.random.default_rng(seed)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    box = [bounds] * size
    return min(
        float(minimize(function, x, method="L-BFGS-B", bounds=box, options=options).fun)
        for x in rng.random((starts, size))
    )


def drawn(rng: Any, shape: tuple[int, int], dtype: Any = np.float64) -> Array:
    """The rows of Z that a stream with this source draws, each at once."""
    key = Key.of(rng)
    head = cipher_head(key.secret(b"noise"))
    z = np.empty(shape, dtype)
    for step, row in enumerate(z):
        fill_normal(row, 0, head, step=step, rounds=key.rounds)
    return z
