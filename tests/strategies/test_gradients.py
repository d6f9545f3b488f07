"""The gradients that the optimisers follow, by central differences."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.strategies.band_inv_mf import _chain, _fractions, _inverse
from hockeystick.strategies.band_inv_mf import _objective as inverse_objective
from hockeystick.strategies.band_mf import _objective as banded_objective
from hockeystick.strategies.band_mf import participation_series
from hockeystick.strategies.blt import _objective as buffered_objective
from hockeystick.strategies.blt import _start
from hockeystick.strategies.workloads import error_weights, weighted_squares
from in_one_test import in_one_test
from references.factorizations import dense, error_times_sensitivity

N = 11
CASES = pytest.mark.parametrize("error", ["mean", "max"])
DECAYS = pytest.mark.parametrize("decay", [0.0, 0.8])
PARTICIPATIONS = pytest.mark.parametrize(
    "participation",
    [(None, None), (1, None), (3, None), (3, 2), (None, 4)],
    ids=str,
)


def assert_gradient(function, x):
    """Central differences agree with the gradient, relative to its largest entry."""
    value, gradient = function(x)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = 1e-5
        slope = (function(x + step)[0] - function(x - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-8 * value)


def gap_of(participation, pattern):
    """Where the bound on the sensitivity starts to look; a single column needs none."""
    return N if pattern.sum() == 1 else participation[0] or 1


def given(error, decay, participation):
    """Weights, target and pattern."""
    separation, participations = participation
    pattern = participation_series(N, separation=separation, participations=participations)
    measure = weighted_squares(error_weights(error, N))
    return {
        "target": strategies.momentum(N, decay=decay),
        "pattern": pattern,
        "measure": measure,
    }


@CASES
@DECAYS
def test_banded(error, decay):
    """In the coefficients; the value is the error of the dense matrices."""
    c = np.array([1.0, 0.7, 0.4, 0.3])
    target = strategies.momentum(N, decay=decay)
    measure = weighted_squares(error_weights(error, N))
    assert_gradient(lambda x: banded_objective(x, target, measure), c)
    expected = error_times_sensitivity(dense(c, N), target, error, [0])
    assert banded_objective(c, target, measure)[0] == pytest.approx(expected, rel=1e-12)


@in_one_test
@CASES
@DECAYS
@PARTICIPATIONS
def test_inverse(error, decay, participation):
    """In the inverse's coefficients, and in the fractions."""
    arguments = given(error, decay, participation)
    arguments["separation"] = gap_of(participation, arguments["pattern"])
    fractions = np.array([0.5, 0.2, 0.3])

    def in_fractions(u):
        d = _inverse(u)
        value, gradient = inverse_objective(d, **arguments)
        return value, _chain(u, d, gradient)

    d = _inverse(fractions)
    assert_gradient(lambda x: inverse_objective(x, **arguments), d)
    assert_gradient(in_fractions, fractions)
    steps = np.flatnonzero(arguments["pattern"])
    expected = error_times_sensitivity(
        np.linalg.inv(dense(d, N)), arguments["target"], error, steps
    )
    assert in_fractions(fractions)[0] == pytest.approx(expected, rel=1e-12)


def test_fractions_and_coefficients_are_the_same_thing():
    """Each map undoes the other; the coefficients after the first are negative, of sum above -1."""
    fractions = np.array([0.5, 0.0, 0.9, 0.2])
    d = _inverse(fractions)
    np.testing.assert_allclose(_fractions(d), fractions, rtol=1e-14)
    assert d[0] == 1
    assert (d[1:] <= 0).all()
    assert d.sum() > 0
    assert _fractions(np.ones(1)).size == 0


@in_one_test
@CASES
@DECAYS
@PARTICIPATIONS
@pytest.mark.parametrize("buffers", [1, 3])
def test_buffered(error, decay, participation, buffers):
    """In the logits of the decays and the logarithms of the weights."""
    arguments = given(error, decay, participation)
    x = _start(N, buffers, (0.3, 3.0))
    assert_gradient(lambda y: buffered_objective(y, **arguments), x)
    decays, weights = 1 / (1 + np.exp(-x[:buffers])), np.exp(x[buffers:])
    c = [1.0, *(weights @ decays[:, None] ** np.arange(N - 1))]
    steps = np.flatnonzero(arguments["pattern"])
    expected = error_times_sensitivity(dense(c, N), arguments["target"], error, steps)
    assert buffered_objective(x, **arguments)[0] == pytest.approx(expected, rel=1e-12)
