"""The compiled loops against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick._numerics import kernels
from hypothesis_strategies import law_of, pairs, quick
from references import kernels as slow
from references.outcomes import exact, number


@st.composite
def increasing(draw, low=-5.0, high=5.0, min_size=1, max_size=8):
    """Distinct increasing floats."""
    values = st.integers(0, 10**6).map(lambda k: low + (high - low) * k / 10**6)
    drawn = draw(st.lists(values, min_size=min_size, max_size=max_size, unique=True))
    return np.sort(np.array(drawn))


@st.composite
def masses(draw, size):
    """Positive masses of very different size."""
    exponents = draw(st.lists(st.floats(-40, 0), min_size=size, max_size=size))
    return 10.0 ** np.array(exponents)


def assert_close(fast, plain):
    """Equal up to the rounding of sums whose terms may be far apart."""
    scale = max(map(abs, plain), default=0.0)
    assert np.asarray(fast) == pytest.approx(np.asarray(plain), rel=1e-11, abs=1e-13 * scale)


def linear(alpha, beta, q_a, x_b, q_b, *, nodes, turn, symmetric, skip_first):
    """The compiled loop, with everything given as likelihood ratios."""
    return kernels.accumulate_linear(
        alpha,
        beta,
        q_a,
        (x_b, x_b - 1),
        q_b,
        (nodes, nodes - 1),
        turn,
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
    turn = data.draw(st.integers(0, nodes.size))
    both = alpha, alpha - weight
    where = {"nodes": nodes, "turn": turn, "skip_first": skip_first}
    fast = linear(both, beta, q_a, x_b, q_b, symmetric=False, **where)
    plain = slow.accumulate_linear(alpha, beta, q_a, x_b, q_b, nodes=nodes, skip_first=skip_first)
    assert_close(fast[0], plain[0])
    assert_close(fast[1], plain[1])


@quick
@given(data=st.data())
@pytest.mark.parametrize("skip_first", [False, True])
def test_linear_accumulation_uses_symmetry(data, skip_first):
    """Visiting each unordered pair once, with double weight, gives the same sums."""
    x = data.draw(increasing(0.5, min_size=2))
    q = data.draw(masses(x.size))
    nodes = np.unique(np.concatenate(([x[0] ** 2, x[-1] ** 2 + 1e-9], x**2 * (1 + 1e-9))))
    zero = np.zeros(x.size)
    turn = data.draw(st.integers(0, nodes.size))
    where = {"nodes": nodes, "turn": turn, "skip_first": skip_first}
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


@quick
@given(loss=increasing(-30.0, 30.0), data=st.data())
def test_suffix_calls(loss, data):
    """The two running sums equal the sums over all atoms above."""
    p = data.draw(masses(loss.size))
    calls, slopes = kernels.suffix_calls(loss, p)
    plain_calls, plain_slopes = slow.suffix_calls(loss, p)
    assert calls == pytest.approx(np.array(plain_calls), rel=1e-11)
    assert slopes == pytest.approx(np.array(plain_slopes), rel=1e-12)


@quick
@given(loss=increasing(-3.0, 3.0, min_size=3, max_size=9), data=st.data())
def test_lower_hull(loss, data):
    """The kept corners are those of the largest convex function below the profile."""
    # Any function between (1 - x)+ and 1 will do; prices are out of the money.
    x = [exact.exp(number(at)) for at in loss]
    floor = [max(1 - value, 0) for value in x]
    lift = data.draw(st.lists(st.floats(0.01, 1), min_size=loss.size, max_size=loss.size))
    calls = [f + number(u) * (1 - f) for f, u in zip(floor, lift, strict=True)]
    price = [
        float(c if at >= 0 else (c - 1 + v) / v) for c, at, v in zip(calls, loss, x, strict=True)
    ]
    kept = kernels.lower_hull(loss, np.array(price))
    hull = np.interp(
        [float(v) for v in x], [float(x[k]) for k in kept], [float(calls[k]) for k in kept]
    )
    assert hull == pytest.approx(np.array(slow.convex_minorant(x, calls), dtype=float), rel=1e-9)
