"""The pair of a Levy process at one time: closed form, law and composition."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, poisson

import hockeystick as hs
from hockeystick._numerics.law import Resolution, Side
from hockeystick.errors import InvalidParameter
from hockeystick.filters import LevyProcess
from hockeystick.filters.levy.pair import LevyPair, jump_lattice
from in_one_test import in_one_test

PAIR = LevyPair(variance=0.09, unit=0.1, sizes=(1, 4), rates=(0.8, 0.05))


def by_hand(pair: LevyPair, epsilon: float, *, reverse: bool) -> float:
    """The sum over the numbers of jumps of both kinds, with SciPy's distributions."""
    x = np.array(pair.sizes) * pair.unit
    drift = float(np.array(pair.rates) @ np.expm1(x))
    mu = math.sqrt(pair.variance)
    a, b = np.arange(40)[:, None], np.arange(20)[None, :]
    weight = poisson.pmf(a, pair.rates[0]) * poisson.pmf(b, pair.rates[1])
    loss = a * x[0] + b * x[1] - drift
    gap = epsilon + loss if reverse else epsilon - loss
    height = norm.cdf(mu / 2 - gap / mu) - np.exp(gap) * norm.cdf(-mu / 2 - gap / mu)
    total = float((weight * (height if reverse else np.exp(loss) * height)).sum())
    return pair.killed + (1 - pair.killed) * total


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("killed", [0.0, 1e-3])
def test_closed_form(reverse: bool, killed: float) -> None:
    """Equal to the double sum, from the centre to deltas where that still has digits."""
    pair = replace(PAIR, killed=killed)
    for epsilon in (-0.3, 0.0, 0.4, 1.0, 1.5):
        expected = by_hand(pair, epsilon, reverse=reverse)
        assert pair.closed_form(epsilon, reverse=reverse) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("rates", [(0.3, 0.01), (40.0, 2.0), (3000.0, 100.0)])
def test_mean_of_the_ratio_is_one(rates: tuple[float, float]) -> None:
    """P and Q have mass one, and H(P||Q) at g is g H(Q||P) at 1/g, plus 1 - g.

    With 3000 expected jumps e^-3000 is no float: masses are scaled on the way.
    """
    pair = LevyPair(variance=0.05, unit=0.01, sizes=(1, 7), rates=rates)
    assert pair.jumps.p.sum() == pytest.approx(1.0, abs=1e-9)
    assert pair.jumps.q.sum() == pytest.approx(1.0, abs=1e-9)
    for epsilon in (-0.5, 0.2, 0.9):
        one, other = (pair.closed_form(s * epsilon, reverse=s < 0) for s in (1, -1))
        gamma = math.exp(epsilon)
        assert one - gamma * other == pytest.approx(1 - gamma, rel=1e-8)


def test_lattice_bounds_what_it_leaves_out() -> None:
    """The mass beyond the lattice is below its bound, which is small."""
    jumps = jump_lattice(0.5, (1, 2), np.array([3.0, 1.0]))
    assert 0 < jumps.lost < 1e-50
    assert jumps.error < 1e-10
    assert jumps.loss[-1] > 20


def test_law_lies_around_the_closed_form() -> None:
    """Upper and lower law, both directions, and close."""
    resolution = Resolution(0.02, 1e-20, 8.0)
    pair = replace(PAIR, killed=1e-4)
    for reverse in (False, True):
        expression = pair.reverse() if reverse else pair
        for epsilon in (0.0, 0.5, 1.2):
            exact = pair.closed_form(epsilon, reverse=reverse)
            upper, lower = (
                _delta(expression.law(side, resolution), epsilon)
                for side in (Side.UPPER, Side.LOWER)
            )
            # At a node of the grid both are exact.
            assert exact * (1 - 5e-3) < lower < exact * (1 + 1e-11)
            assert exact * (1 - 1e-11) < upper < exact * (1 + 5e-3)


def _delta(law, epsilon: float) -> float:
    """E_Q(LR - e^epsilon)+ of a law."""
    gain = np.maximum(law.p - math.exp(epsilon) * law.q, 0.0)
    return float(gain.sum()) + law.p_infinite


def test_times_add_up() -> None:
    """The composition of two times is the sum of the times, in both directions."""
    process = LevyProcess(
        gaussian=0.04, unit=0.1, sizes=(1, 3), rates=(0.5, 0.1), killing=1e-5, catalyst=0.0
    )
    parts = [hs.Profile(process.pair(time)) for time in (0.7, 1.3)]
    both = parts[0].compose(parts[1])
    whole = hs.Profile(process.pair(2.0))
    for directions in (("remove",), ("add",)):
        bounds = both.epsilon_bounds(1e-4, directions=directions)
        exact = whole.epsilon_bounds(1e-4, directions=directions)
        assert bounds.lower <= exact.upper
        assert bounds.upper >= exact.lower
        assert bounds.upper == pytest.approx(exact.upper, rel=2e-3)


def test_without_jumps_it_is_gaussian() -> None:
    """The Gaussian mechanism's own numbers."""
    pair = LevyProcess(gaussian=1.0).pair(0.25)
    gaussian = hs.Profile.gaussian(noise_multiplier=2.0)
    for epsilon in (0.0, 1.0, 2.5):
        assert hs.Profile(pair).delta(epsilon) == pytest.approx(gaussian.delta(epsilon), rel=1e-8)


@in_one_test
@pytest.mark.parametrize(
    "wrong",
    [
        {"gaussian": -1.0},
        {"gaussian": 0.0},
        {"gaussian": math.nan},
        {"gaussian": 1.0, "sizes": (1,)},
        {"gaussian": 1.0, "sizes": (2, 1), "rates": (1.0, 1.0)},
        {"gaussian": 1.0, "sizes": (0,), "rates": (1.0,)},
        {"gaussian": 1.0, "sizes": (1,), "rates": (-1.0,)},
        {"gaussian": 1.0, "unit": 0.0},
    ],
)
def test_wrong_processes(wrong: dict[str, object]) -> None:
    """Negative variances and rates, sizes out of order, nothing at all."""
    with pytest.raises(InvalidParameter):
        LevyProcess(**wrong)  # type: ignore[arg-type]
