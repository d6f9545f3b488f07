"""Compiled loops of products and averages against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.profile.convolution import kernels
from hockeystick.profile.convolution.linear import accumulate_linear
from hypothesis_strategies import increasing, law_of, masses, pairs, quick
from references import kernels as slow


def assert_close(fast, plain, *, terms=0.0):
    """Equal up to the rounding of sums whose terms may be far apart, or differences of `terms`."""
    scale = max(map(abs, plain), default=0.0) + terms
    assert np.asarray(fast) == pytest.approx(np.asarray(plain), rel=1e-11, abs=1e-13 * scale)


def linear(alpha, beta, q_a, x_b, q_b, *, nodes, switch, symmetric, skip_first):
    """The compiled loop, with everything given as likelihood ratios."""
    return accumulate_linear(
        alpha,
        beta,
        q_a,
        (x_b, x_b - 1),
        q_b,
        (nodes, nodes - 1),
        switch,
        symmetric,
        skip_first,
    )


@quick
@given(data=st.data())
@pytest.mark.parametrize("skip_first", [False, True])
def test_linear_accumulation(data, skip_first):
    """Each pair of atoms adds its mass and its distance to the cell it falls into."""
    x_a, x_b = data.draw(increasing(0.0)), data.draw(increasing(0.0))
    q_a, q_b = data.draw(masses(x_a.size)), data.draw(masses(x_b.size))
    weight = data.draw(st.floats(0.1, 0.9))
    alpha, beta = weight * x_a, np.full(x_a.size, 1 - weight)
    low, high = alpha[0] + beta[0] * x_b[0], alpha[-1] + beta[-1] * x_b[-1]
    # No pair of atoms is on an inner node, where the two ways of summing may disagree.
    inner = low + (data.draw(increasing(0.0, 1.0)) + np.pi * 1e-8) * (high - low)
    nodes = np.unique(np.concatenate(([low, high + 1e-9], inner[inner < high])))
    switch = data.draw(st.integers(0, nodes.size))
    both = alpha, alpha - weight
    where = {"nodes": nodes, "switch": switch, "skip_first": skip_first}
    fast = linear(both, beta, q_a, x_b, q_b, symmetric=False, **where)
    plain = slow.accumulate_linear(alpha, beta, q_a, x_b, q_b, nodes=nodes, skip_first=skip_first)
    assert_close(fast[0], plain[0])
    # Distances from a node: a ratio in the node itself has a distance of rounding only.
    assert_close(fast[1], plain[1], terms=1e-2 * max(plain[0]))


@quick
@given(data=st.data())
@pytest.mark.parametrize("skip_first", [False, True])
def test_linear_accumulation_uses_symmetry(data, skip_first):
    """Visiting each unordered pair once, with double weight, gives the same sums."""
    x = data.draw(increasing(0.5, min_size=2))
    q = data.draw(masses(x.size))
    nodes = np.unique(np.concatenate(([x[0] ** 2, x[-1] ** 2 + 1e-9], x**2 * (1 + 1e-9))))
    zero = np.zeros(x.size)
    switch = data.draw(st.integers(0, nodes.size))
    where = {"nodes": nodes, "switch": switch, "skip_first": skip_first}
    fast = linear((zero, x - 1), x, q, x, q, symmetric=True, **where)
    plain = slow.accumulate_linear(zero, x, q, x, q, nodes=nodes, skip_first=skip_first)
    assert_close(fast[0], plain[0])
    assert_close(fast[1], plain[1])


@quick
@given(first=pairs(), second=pairs(), data=st.data())
def test_log_accumulation(first, second, data):
    """Main mass, upper share and remaining mass of the products, for losses of any size."""
    a, b = law_of(first), law_of(second)
    low, high = a.loss[0] + b.loss[0], a.loss[-1] + b.loss[-1] + 1.0
    nodes = np.unique(np.concatenate(([low, high], data.draw(increasing(low, high)))))
    main, up, remaining = kernels.accumulate_log(*a[:3], *b[:3], nodes)
    plain_main, plain_up, plain_remaining = slow.accumulate_log(a, b, nodes)
    assert main == pytest.approx(np.array(plain_main), rel=1e-11, abs=1e-300)
    assert remaining == pytest.approx(np.array(plain_remaining), rel=1e-11, abs=1e-300)
    # The share of a loss just above a node is its distance to the node, a rounded difference.
    assert up == pytest.approx(np.array(plain_up), rel=1e-9, abs=1e-13 * max(plain_main))
