"""The law of a sum over a hundred bins: close to its limit from both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick.analyses.gram.order.chains import ChainMixture
from references.sum_law import bounds, chain_law, enclosed


def simulated_far_below(pair, epsilon, *, draws, pull):
    """delta when adding, and its standard error: all states are drawn with a lower mean.

    The density of the proposal relative to that of the chain is e^(lX - lKl/2), l = -pull/b.
    """
    rng = np.random.default_rng(3)
    gram, bins = pair.gram(), pair.bins
    shift = -pull * gram.mean(axis=0)
    x = math.sqrt(pair.chain) * rng.standard_normal(draws)
    total, state_sum = np.zeros(draws), np.zeros(draws)
    for i in range(bins):
        if i:
            fresh = math.sqrt(pair.chain * (1 - pair.rho**2)) * rng.standard_normal(draws)
            x = pair.rho * x + fresh
        total += np.exp(x + shift[i] - pair.chain / 2)
        state_sum += x + shift[i]
    weight = np.exp(pull * state_sum / bins + pull**2 * gram.mean() / 2)
    gain = np.maximum(1 - math.exp(epsilon) * total / bins, 0.0) * weight
    return gain.mean(), gain.std() / math.sqrt(draws)


HUNDRED = ChainMixture(0.0, 1.48828125, 0.0, 0.597, np.ones(100))


@pytest.mark.slow
def test_hundred_bins_removing():
    """Limits of ever finer steps, which importance sampling confirms: between close bounds."""
    limits = np.array([3.80e-2, 8.905e-3, 3.184e-4, 1.079e-6])
    values = bounds(
        chain_law, HUNDRED, [0.25, 0.5, 1.0, 2.0], remove=True, fineness=0.17, tail=1e-10
    )
    assert enclosed(values, limits, slack=1e-3)
    np.testing.assert_allclose(values.mean(axis=1) / limits, 1.0, rtol=0.005)
    np.testing.assert_allclose(values[:2] / limits[:2, None], 1.0, rtol=0.02)
    np.testing.assert_allclose(values / limits[:, None], 1.0, rtol=0.04)


@pytest.mark.long
def test_hundred_bins_adding():
    """The same; at epsilon 1 also against draws made here."""
    limits = np.array([3.379e-2, 5.397e-3, 1.481e-5])
    values = bounds(chain_law, HUNDRED, [0.25, 0.5, 1.0], remove=False, fineness=0.17, tail=1e-10)
    assert enclosed(values, limits, slack=1e-3)
    np.testing.assert_allclose(values.mean(axis=1) / limits, 1.0, rtol=0.005)
    np.testing.assert_allclose(values[:2] / limits[:2, None], 1.0, rtol=0.02)
    np.testing.assert_allclose(values / limits[:, None], 1.0, rtol=0.04)
    mean, error = simulated_far_below(HUNDRED, 1.0, draws=100_000, pull=14.0)
    assert values[-1, 0] <= mean + 5 * error
    assert values[-1, 1] >= mean - 5 * error
    assert error < 0.02 * mean
