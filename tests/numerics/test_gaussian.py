"""Closed forms of the Gaussian pair against fifty digits."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick._numerics.gaussian import gaussian_cells, gaussian_delta, quantile_of_tail
from hockeystick.profile.expressions.mechanisms import GaussianPair
from in_one_test import in_one_test
from references.gaussian import gaussian_delta as exact_delta
from references.outcomes import exact, number


@in_one_test
@pytest.mark.parametrize("sigma", [1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4])
@pytest.mark.parametrize("deviations", [-5, 0, 1, 4, 8, 13, 20, 30])
def test_delta_within_its_stated_error(sigma, deviations):
    """The closed form keeps the relative error that it claims, down to 1e-200."""
    mu = 1 / sigma
    epsilon = mu * (mu / 2 + deviations)
    value = exact_delta(mu, epsilon)
    error = abs(gaussian_delta(mu, epsilon) / value - 1)
    assert error <= GaussianPair(mu).closed_form_error


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 7.0, 30.0])
def test_cells_against_fifty_digits(mu):
    """Masses of cells far out in either tail, and of very thin cells."""
    edges = np.array([-36.0, -20.0, -5.0, -1e-6, 0.0, 1e-6, 3.0, 3.0001, 20.0, 36.0])
    for shift, logs in zip((mu, 0.0), gaussian_cells(mu, edges), strict=True):
        points = [number(edge) - number(shift) for edge in edges]
        below = [exact.ncdf(x) for x in points]
        above = [exact.ncdf(-x) for x in points]
        cells = [below[0]]
        for k in range(edges.size - 1):
            left_tail = points[k + 1] <= 0
            cells.append(below[k + 1] - below[k] if left_tail else above[k] - above[k + 1])
        cells.append(above[-1])
        want = np.array([float(exact.log(cell)) for cell in cells])
        # A cell is as accurate as the difference of its edges, which is itself rounded.
        assert logs == pytest.approx(want, rel=1e-12, abs=1e-8)
        assert np.exp(logs).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("tail", [0.3, 1e-5, 1e-20, 1e-100, 1e-280])
def test_quantile_of_tail(tail):
    """Phi(-z) is the tail that was asked for."""
    assert float(exact.ncdf(-number(quantile_of_tail(tail)))) == pytest.approx(tail, rel=1e-10)
