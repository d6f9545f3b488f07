"""From cells to laws: the outer cells are charged, the inner ones enclose every density."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick._numerics.gaussian import gaussian_cells
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.rounding import law_from_cells, mixture
from hockeystick.profile.expressions.mechanisms import GaussianPair, Laplace
from in_one_test import in_one_test
from references.gaussian import gaussian_delta
from references.laws import measure, p_mass, q_mass
from references.outcomes import hockey_stick, reverse


def cell_laws(mu, edges):
    """Upper and lower law of the Gaussian pair between these observations."""
    log_p, log_q = gaussian_cells(mu, edges)
    return [law_from_cells(mu * (edges - mu / 2), log_p, log_q, side) for side in Side]


@in_one_test
@pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("count", [2, 3, 10, 100])
def test_gaussian_cells_enclose_the_gaussian(mu, count):
    """Few or many cells, some of them infinite: lower <= closed form <= upper, both directions."""
    edges = np.linspace(-4.0, mu + 5.0, count)
    upper, lower = cell_laws(mu, edges)
    for epsilon in mu * (mu / 2 + np.array([-6.0, -2.0, -0.5, 0.0, 0.4, 1.0, 3.0, 4.9])):
        value = gaussian_delta(mu, epsilon)
        for direction in (lambda pair: pair, reverse):
            low = hockey_stick(direction(measure(lower)), epsilon)
            high = hockey_stick(direction(measure(upper)), epsilon)
            assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


@pytest.mark.parametrize("side", list(Side))
def test_no_mass_is_lost(side):
    """Outer cells included, P and Q both sum to one."""
    law = cell_laws(2.0, np.linspace(-1.0, 2.5, 7))[list(Side).index(side)]
    assert float(p_mass(law)) == pytest.approx(1.0, rel=1e-12)
    assert float(q_mass(law)) == pytest.approx(1.0, rel=1e-12)


def test_outer_cells_are_charged_in_full():
    """With two edges at the centre nearly everything above is P at infinity."""
    upper, lower = cell_laws(1.0, np.array([0.49, 0.51]))
    assert upper.p_infinite > 0.3
    assert lower.p_infinite == 0.0


@in_one_test
@pytest.mark.parametrize("expression", [GaussianPair(1.5), Laplace(0.7), Laplace(20.0)])
@pytest.mark.parametrize("step", [0.5, 0.1, 0.02])
def test_laws_of_mechanisms_enclose_their_closed_forms(expression, step):
    """At every step and epsilon, in both directions."""
    resolution = Resolution(step, 1e-12, 10.0)
    lower, upper = (measure(expression.law(side, resolution)) for side in (Side.LOWER, Side.UPPER))
    reach = 3.0 if isinstance(expression, GaussianPair) else 1 / expression.scale
    for epsilon in np.linspace(-1.2, 1.2, 13) * reach:
        for forward in (True, False):
            value = expression.closed_form(epsilon, reverse=not forward)
            pairs = (lower, upper) if forward else (reverse(lower), reverse(upper))
            low, high = (hockey_stick(pair, epsilon) for pair in pairs)
            assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


def test_mixture_joins_equal_losses():
    """Masses of equal losses add; atoms at the ends add too."""
    one = Law(np.array([0.0, 1.0]), np.array([0.1, 0.2]), np.array([0.1, 0.07]), 0.1, 0.0)
    other = Law(np.array([1.0, 2.0]), np.array([0.3, 0.3]), np.array([0.11, 0.04]), 0.0, 0.2)
    mixed = mixture([one, other])
    assert mixed.loss.tolist() == [0.0, 1.0, 2.0]
    assert mixed.p == pytest.approx([0.1, 0.5, 0.3], rel=1e-15)
    assert mixed.q == pytest.approx([0.1, 0.18, 0.04], rel=1e-15)
    assert (mixed.p_infinite, mixed.q_zero) == (0.1, 0.2)
