"""Compiled shifts and products of partial sums against slow reference implementations."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.law.sum_kernels import product, spread
from in_one_test import in_one_test


def spread_slowly(table, sums, increments, weights, nodes, *, moves):
    """One mass after the other, between the nodes around it."""
    rows = weights.size if moves else table.shape[0]
    result, excess = np.zeros((rows, nodes.size)), 0.0
    for x, j, m in np.ndindex(table.shape[0], sums.size, weights.size):
        s, mass = sums[j] + increments[x, m], table[x, j] * weights[m]
        row = result[m if moves else x]
        k = int(np.searchsorted(nodes, s, side="right")) - 1
        if k >= nodes.size - 1:
            row[-1] += mass
            excess += mass * (s - nodes[-1])
            continue
        up = (s - nodes[k]) / (nodes[k + 1] - nodes[k])
        row[k] += mass * (1 - up)
        row[k + 1] += mass * up
    return result, excess


def random_sums(rng, nodes):
    """A table with gaps at its ends, sums and increments of any size, some beyond the nodes."""
    states, size, parts = rng.integers(1, 5), rng.integers(1, 30), rng.integers(1, 4)
    table = rng.random((states, size)) * 10.0 ** rng.integers(-30, 1, (states, size))
    table[:, : rng.integers(0, size + 1)] *= rng.random((states, 1)) < 0.5
    sums = np.concatenate(([0.0], np.cumsum(rng.exponential(size=size - 1))))
    increments = rng.exponential(scale=rng.choice([0.01, 1.0, 20.0]), size=(states, parts))
    weights = rng.dirichlet(np.ones(parts))
    grid = np.concatenate(([0.0], np.cumsum(rng.exponential(size=nodes - 1))))
    return table, sums, increments, weights, grid


@in_one_test
@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 3, 40])
def test_spread_splits_every_mass(nodes, moves):
    """Also onto a single node, and with everything beyond the last; masses and means are kept."""
    rng = np.random.default_rng(nodes + 100 * moves)
    for _ in range(50):
        table, sums, increments, weights, grid = random_sums(rng, nodes)
        expected, beyond = spread_slowly(table, sums, increments, weights, grid, moves=moves)
        result = np.zeros_like(expected)
        excess = spread(table, sums, increments, weights, grid, result, moves)
        np.testing.assert_allclose(result, expected, rtol=1e-11, atol=0)
        assert excess == pytest.approx(beyond, rel=1e-11)
        assert result.sum() == pytest.approx(table.sum(), rel=1e-12)
        mean = table @ sums @ np.ones(len(table)) + table.sum(axis=1) @ (increments @ weights)
        assert (result @ grid).sum() + excess == pytest.approx(mean, rel=1e-11)


def test_spread_adds_to_what_is_there():
    """The result is not cleared first."""
    result = np.full((1, 2), 3.0)
    spread(
        np.ones((1, 1)),
        np.zeros(1),
        np.full((1, 1), 0.25),
        np.ones(1),
        np.arange(2.0),
        result,
        False,
    )
    np.testing.assert_allclose(result, [[3.75, 3.25]])


@in_one_test
@pytest.mark.parametrize("rows", [1, 3, 4, 9])
@pytest.mark.parametrize("states", [1, 4, 6, 17])
@pytest.mark.parametrize("sums", [1, 7, 600, 1300])
def test_product_is_that_of_matrices(rows, states, sums):
    """For any size, with bands of any width, rows without weights, and columns without mass."""
    rng = np.random.default_rng(rows + 10 * states + 1000 * sums)
    weights = rng.random((rows, states))
    first = rng.integers(0, states + 1, rows)
    last = rng.integers(0, states + 1, rows)
    inside = (np.arange(states) >= first[:, None]) & (np.arange(states) < last[:, None])
    weights[~inside] = 0.0
    last = np.maximum(first, last)
    table = rng.random((states, sums)) * 10.0 ** rng.integers(-200, 1, (states, 1))
    table[:, : sums // 5] = 0.0
    np.testing.assert_allclose(
        product(weights, first, last, table), weights @ table, rtol=1e-13, atol=0
    )
