"""The search for a noise with a wanted epsilon, on curves in closed form, and where it starts."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs
from hockeystick.accounting.noise_search import Start, first_guess, noise_guess, noise_secant
from hockeystick.errors import CalibrationError
from in_one_test import in_one_test

TOLERANCE = 1e-3


def power(noise: float) -> float:
    """Falls like a power of the noise."""
    return 3.0 * noise**-1.7


def bent(noise: float) -> float:
    """Falls fast at low noise and slowly at high noise, as of a Gaussian mechanism."""
    return 0.5 / noise**2 + 4.8 / noise


def kinked(noise: float) -> float:
    """The better one of two analyses."""
    return min(2.0 * noise**-3.0, 1.1 * noise**-0.8)


def out_of_reach(noise: float) -> float:
    """Says nothing at low noise."""
    return math.inf if noise < 2.0 else 4.0 / noise


def to_zero(noise: float) -> float:
    """Nothing is left at high noise."""
    return max(2.0 - noise, 0.0)


CURVES = {curve.__name__: curve for curve in (power, bent, kinked, out_of_reach, to_zero)}


def counted(curve):
    """The curve, and a list that grows with every evaluation."""
    noises: list[float] = []

    def at(noise: float) -> float:
        noises.append(noise)
        return curve(noise)

    return at, noises


@in_one_test
@pytest.mark.parametrize("start", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", CURVES)
def test_finds_the_noise_in_few_evaluations(name, start):
    """Within the tolerance below the target; a bad start costs some."""
    curve, noises = counted(CURVES[name])
    found = noise_secant(curve, 1.0, start=Start(start), tolerance=TOLERANCE)
    assert 1 - TOLERANCE <= CURVES[name](found.noise) <= 1.0
    assert len(noises) <= 14


@pytest.mark.parametrize("name", ["power", "bent"])
def test_a_good_start_saves_evaluations(name):
    """From ten per cent away four evaluations are enough."""
    answer = noise_secant(CURVES[name], 1.0, start=Start(1.0), tolerance=1e-6).noise
    curve, noises = counted(CURVES[name])
    noise_secant(curve, 1.0, start=Start(1.1 * answer), tolerance=TOLERANCE)
    assert len(noises) <= 4


def test_where_two_bounds_meet_the_secant_is_not_followed():
    """Between them epsilon hardly falls, and a secant through both would overshoot."""

    def stepped(noise: float) -> float:
        return (1.03 if noise > 1.0 else 1.0) / noise**1.3

    curve, noises = counted(stepped)
    noise_secant(curve, 0.98, start=Start(0.99, slope=-1.3), tolerance=TOLERANCE)
    assert noises[0] < 1.0 < noises[1]
    assert len(noises) == 3


def test_a_jump_is_met_from_above():
    """No noise has the wanted epsilon; the smallest one that holds is given."""
    found = noise_secant(
        lambda noise: 2.0 if noise < 3.7 else 0.5, 1.0, start=Start(1.0), tolerance=TOLERANCE
    )
    assert 3.7 <= found.noise <= 3.7 * (1 + TOLERANCE)


def test_near_a_jump_the_search_ends():
    """A closer answer would take one evaluation for every half of a bracket."""

    def broken(noise: float) -> float:
        return (1.01 if noise < 2.0 else 1.0) * (2.0 / noise) ** 1.5

    curve, noises = counted(broken)
    found = noise_secant(curve, 1.005, start=Start(1.9), tolerance=1e-6)
    assert 2.0 <= found.noise <= 2.0 * 1.001
    assert len(noises) <= 8


def test_the_slope_is_handed_on():
    """A finer search starts with the power that a coarse one has found."""
    found = noise_secant(power, 1.0, start=Start(0.5), tolerance=TOLERANCE)
    assert found.slope == pytest.approx(-1.7, rel=1e-6)


def test_what_no_noise_reaches_is_an_error():
    """An epsilon that stays above the target."""
    with pytest.raises(CalibrationError, match="up to 1e"):
        noise_secant(lambda _: 2.0, 1.0, start=Start(1.0), tolerance=TOLERANCE)


PLANS = {
    "full batch": hs.Plan(sampling=hs.FullBatch(), steps=100),
    "Poisson": hs.Plan(sampling=hs.Poisson(rate=0.01), steps=1_000),
    "one allocation": hs.Plan(sampling=hs.BallsInBins(bins=100), steps=100),
    "correlated": hs.Plan(
        sampling=hs.BallsInBins(bins=100), steps=1_000, strategy=hs.strategies.bsr(1_000, 4)
    ),
    "min-sep": hs.Plan(
        sampling=hs.MinSep(rate=0.02, separation=4), steps=80, strategy=hs.strategies.bsr(80, 4)
    ),
}


def test_the_start_has_the_slope_of_the_guess():
    """Between a Gaussian mechanism's and that of a participation that is visible."""
    begin = first_guess(PLANS["correlated"], epsilon=4.0, delta=1e-5)
    near, below = (noise_guess(PLANS["correlated"], epsilon=e, delta=1e-5) for e in (4.0, 4.8))
    assert begin.noise == near
    assert begin.slope == pytest.approx(math.log(1.2) / math.log(below / near))
    assert -3 < begin.slope < -1.5
    quiet = first_guess(PLANS["full batch"], epsilon=0.01, delta=1e-9)
    assert quiet.slope == pytest.approx(-1.0, abs=0.05)


def test_a_guess_of_one_gaussian_step_is_exact():
    """The Gaussian mechanism itself."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    guess = noise_guess(plan, epsilon=1.0, delta=1e-5)
    noise = hs.calibrate(plan, epsilon=1.0, delta=1e-5).noise_multiplier
    assert guess == pytest.approx(noise, rel=2e-3)


@in_one_test
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.9])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e4])
def test_a_start_is_a_number(epsilon, delta):
    """Whatever the target."""
    begin = first_guess(PLANS["correlated"], epsilon=epsilon, delta=delta)
    assert 0.05 <= begin.noise <= 1e5
    assert -3 <= begin.slope <= -1


QUICK = {"correlated": "renyi", "min-sep": "poisson-reduction"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "epsilon",
    [pytest.param(0.25, marks=pytest.mark.long), 1.0, pytest.param(8.0, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("name", PLANS)
def test_guess_and_search_together(name, epsilon):
    """The guess is within a factor of four, and a calibration takes fewer than ten evaluations."""
    plan = PLANS[name]
    method = QUICK.get(name, "auto")
    found = hs.calibrate(plan, epsilon=epsilon, delta=1e-5, method=method, accuracy=2e-3)
    ratio = noise_guess(plan, epsilon=epsilon, delta=1e-5) / found.noise_multiplier
    assert 1 / 4 < ratio < 4
    assert found.evaluations < 10
