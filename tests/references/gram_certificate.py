"""Random bounds by distance, and a certificate of domination by a second, full linear programme."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from hockeystick.analyses.gram.order import LagBounds

__all__ = [
    "KINDS",
    "TOLERANCE",
    "certificate",
    "least_form",
    "matrix_of",
    "random_columns",
    "random_target",
    "symmetric",
]

# Of the diagonal: how far the solver of the certificate may be off.
TOLERANCE = 1e-9
KINDS = ("decaying", "banded", "dense", "spiky", "flat", "any")


def symmetric(values):
    """The larger of the entries at the distances d and bins - d."""
    closed = values.copy()
    closed[1:] = np.maximum(values[1:], values[:0:-1])
    return closed


def random_target(rng, *, kind, ring, falling, most=24):
    """Bounds by distance, the diagonal largest, with or without falling amplitudes."""
    bins = int(rng.integers(3, most + 1))
    d = np.arange(bins)
    values = {
        "decaying": lambda: rng.uniform(0.3, 0.95) ** d,
        "banded": lambda: np.maximum(1 - d / rng.integers(2, 6), 0.0),
        "dense": lambda: rng.uniform(0.3, 0.9) + 0.1 * rng.uniform(0.1, 0.6) ** d,
        "spiky": lambda: np.where(d == rng.integers(1, bins), rng.uniform(0.5, 1.0), 0.0),
        "flat": lambda: np.full(bins, rng.uniform(0.1, 1.0)),
        "any": lambda: rng.random(bins),
    }[kind]()
    values = symmetric(values) if ring else values
    values[0] = 1.0
    steps = np.sort(rng.uniform(0.2, 1.0, bins))[::-1]
    amplitudes = steps / steps[0] if falling else np.ones(bins)
    return LagBounds(values * rng.uniform(0.1, 10.0), amplitudes, ring)


def certificate(row, *, ring):
    """Entries N >= 0 by distance for which row - N has the highest spectrum, and its lowest value.

    All frequencies of the ring, or of a ring of twice the size, where the lag opposite is free.
    """
    bins = row.size
    period = bins if ring else 2 * bins
    half = period // 2
    d = np.arange(half + 1)
    twice = np.where((d == 0) | (2 * d == period), 1.0, 2.0)
    transform = np.cos(2 * np.pi / period * np.outer(d, d)) * twice
    known = np.append(row, 0.0)[: half + 1]
    bounds = [(0.0, None)] * (half + 1) + [(None, None)]
    if not ring:
        bounds[bins] = (None, None)
    found = linprog(
        np.append(np.zeros(half + 1), -1.0),
        A_ub=np.hstack((transform, np.ones((half + 1, 1)))),
        b_ub=transform @ known,
        bounds=bounds,
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE},
    )
    assert found.status == 0
    entries = found.x[: half + 1]
    if ring:
        entries = np.append(entries, entries[1 : period - half][::-1])
    return entries[:bins], -found.fun


def matrix_of(target, values):
    """The matrix whose entries are the values by distance, times the target's amplitudes."""
    d = np.abs(np.subtract.outer(np.arange(target.bins), np.arange(target.bins)))
    return values[d] * np.outer(target.amplitudes, target.amplitudes)


def random_columns(rng, steps):
    """The Gram matrix of non-negative columns, banded or not."""
    columns = np.tril(rng.exponential(size=(steps, steps)))
    far = np.subtract.outer(np.arange(steps), np.arange(steps)) > rng.integers(1, steps + 1)
    columns = np.where(far, 0.0, columns) + 0.3 * np.eye(steps)
    return columns.T @ columns


def least_form(change, rng):
    """The smallest of x'(change)x over many x >= 0 of one to all coordinates, relatively."""
    size = len(change)
    x = rng.exponential(size=(20_000, size)) * (
        rng.random((20_000, size)) < rng.random((20_000, 1))
    )
    pairs = np.eye(size)[:, None, :] + np.eye(size)[None, :, :]
    x = np.concatenate((x, pairs.reshape(-1, size), np.ones((1, size))))
    forms = np.einsum("ni,ij,nj->n", x, change, x)
    return float((forms / np.maximum((x**2).sum(axis=1), 1e-300)).min() / np.abs(change).max())
