"""Strategies with entries of any size: numbers are numbers, and sensitivities bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hypothesis_strategies import examples
from robustness.outcomes import outcome, refused
from robustness.plans import strategies_for
from robustness.values import counts, magnitudes

pytestmark = pytest.mark.slow


# Short runs, and runs of which no array may be made.
LENGTHS = counts(1e5) | counts(1e6).map(lambda count: 10**9 * count)


@examples(24)
@given(st.data())
def test_strategies(data: st.DataObject) -> None:
    """Norms, errors, Gram matrices and noise; a sensitivity is at least the longest column."""
    strategy = data.draw(strategies_for(data.draw(counts(3000))))
    norms = outcome(lambda: strategy.column_norms)
    assert np.all(np.isfinite(norms) & (norms > 0))
    separation, number = data.draw(counts(100)), data.draw(counts(100))
    found = outcome(lambda: strategy.sensitivity(separation=separation, participations=number))
    assert norms.max() * (1 - 1e-9) <= found <= norms.sum() * (1 + 1e-9)
    assert outcome(strategy.mean_squared_error) > 0
    assert np.all(np.isfinite(outcome(lambda: strategy.gram(spacing=separation))))
    rows = outcome(lambda: next(iter(strategy.noise(2, scale=1.0, rng=1))))
    assert rows.shape == (2,)


@examples(80)
@given(st.lists(st.just(0.0) | magnitudes(1e-320, 1e308), min_size=1, max_size=6), LENGTHS)
def test_coefficients_of_any_size(coefficients: list[float], steps: int) -> None:
    """Refused, or with a sensitivity that is a number."""
    strategy = outcome(lambda: hs.strategies.from_coefficients(coefficients, steps))
    if refused(strategy):
        return
    found = outcome(lambda: strategy.sensitivity(separation=3, participations=2))
    assert refused(found) or 0 < found < math.inf
    norms = outcome(lambda: strategy.column_norms) if steps < 10**5 else np.ones(1)
    assert np.all(np.isfinite(norms))
