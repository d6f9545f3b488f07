"""Simulated runs in which an example draws fresh steps: all trajectories, or block by block."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

__all__ = ["block_losses", "delta_seen", "several_bins", "trajectories", "trajectory_losses"]

Array = Any


def trajectories(steps: int, out_of: int) -> Array:
    """All rows of 0 and 1 with one pick in each block; what falls behind the end is dropped."""
    blocks = [range(start, start + out_of) for start in range(0, steps, out_of)]
    rows = np.zeros((out_of ** len(blocks), len(blocks) * out_of))
    for row, picks in zip(rows, itertools.product(*blocks), strict=True):
        row[list(picks)] = 1.0
    return rows[:, :steps]


def several_bins(bins: int, examples: int) -> Array:
    """All ways in which examples may fall into bins, as how many are in each."""
    return np.array(
        [
            np.bincount(one, minlength=bins)
            for one in itertools.product(range(bins), repeat=examples)
        ],
        dtype=float,
    )


def trajectory_losses(kernel: Array, rows: Array, *, present: bool, draws: int, seed: int) -> Array:
    """log LR of the uniform mixture over the rows' sums of means, whose inner products are given.

    With antithetic noise, and each row drawn equally often.
    """
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(kernel)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    z = rng.standard_normal((draws, len(kernel)))
    products = np.concatenate((z, -z)) @ root.T
    if present:
        products = products + rows[np.arange(2 * draws) % len(rows)] @ kernel
    exponents = products @ rows.T - np.einsum("xi,ij,xj->x", rows, kernel, rows) / 2
    return np.logaddexp.reduce(exponents, axis=1) - np.log(len(rows))


def block_losses(kernel: Array, out_of: int, *, present: bool, draws: int, seed: int) -> Array:
    """The same for whole blocks of which only neighbours have something in common, any number.

    A forward recursion: the weight of every step of a block, given what was seen so far.
    """
    steps = len(kernel)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((draws, steps))
    products = np.concatenate((z, -z)) @ np.linalg.cholesky(kernel).T
    if present:
        picks = rng.integers(out_of, size=(2 * draws, steps // out_of))
        for block, picked in enumerate(picks.T):
            products = products + kernel[block * out_of + picked]
    weights = np.exp(products - np.diagonal(kernel) / 2) / out_of
    ahead = weights[:, :out_of]
    losses = np.zeros(2 * draws)
    for start in range(out_of, steps, out_of):
        now = slice(start, start + out_of)
        ahead = weights[:, now] * (ahead @ np.exp(-kernel[start - out_of : start, now]))
        total = ahead.sum(axis=1, keepdims=True)
        losses += np.log(total[:, 0])
        ahead = ahead / total
    return losses + np.log(ahead.sum(axis=1))


def delta_seen(losses: Array, epsilon: float, *, present: bool) -> tuple[float, float]:
    """The mean payoff of the antithetic pairs, and its standard error."""
    signed = losses if present else -losses
    payoff = np.maximum(-np.expm1(epsilon - signed), 0.0)
    pairs = payoff.reshape(2, -1).mean(axis=0)
    return float(pairs.mean()), float(pairs.std() / np.sqrt(pairs.size))
