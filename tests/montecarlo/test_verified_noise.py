"""`calibrate(method=MonteCarlo(...))`: less noise than proven, and never nothing."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.verifier import Claim

pytestmark = pytest.mark.slow

PLAN = hs.Plan(
    sampling=hs.CyclicPoisson(rate=0.4, groups=4, random_phase=True),
    steps=40,
    strategy=strategies.bsr(40, bands=4),
)
EPSILON, DELTA = 2.0, 1e-3


def calibrated(**options):
    """By draws."""
    method = hs.MonteCarlo(**options)
    return hs.calibrate(PLAN, epsilon=EPSILON, delta=DELTA, method=method)


@pytest.fixture(scope="module", name="verified")
def a_verified_noise():
    """One calibration for several tests."""
    return calibrated(draws=300_000, seed=8)


def test_less_noise_than_proven(verified):
    """By a good part, and verified."""
    assert verified.guarantee.kind == "verified"
    proven = hs.calibrate(PLAN, epsilon=EPSILON, delta=DELTA, accuracy=0.01).noise_multiplier
    assert verified.noise_multiplier < 0.95 * proven
    assert verified.guarantee.delta(EPSILON) <= DELTA * (1 + 1e-12)
    assert verified.guarantee.epsilon(DELTA) <= EPSILON * (1 + 1e-12)
    details = verified.guarantee.answer(epsilon=EPSILON).details
    assert details["accepted"]
    assert details["candidates"] == verified.evaluations >= 1
    assert 0 < details["draws"] < 2 * 300_000


def test_the_noise_is_enough_and_not_much_more(verified):
    """Independent draws see less than the claimed delta, and more at a tenth less noise."""
    options = {"epsilons": [EPSILON], "draws": 400_000, "seed": 99}
    at = hs.estimate_profile(PLAN, noise_multiplier=verified.noise_multiplier, **options)
    assert max(one[0].value for one in at.values()) < DELTA
    less = hs.estimate_profile(PLAN, noise_multiplier=0.9 * verified.noise_multiplier, **options)
    assert max(one[0].value for one in less.values()) > DELTA


def test_estimated_noise_is_a_little_less(verified):
    """What exact accounting would give, without what verification costs."""
    estimate = hs.estimate_noise(PLAN, epsilon=EPSILON, delta=DELTA, seed=3)
    assert estimate.relative_error < 0.05
    ratio = estimate.noise_multiplier / verified.noise_multiplier
    assert 0.9 < ratio < 1


def test_the_same_seed_selects_the_same_noise(verified):
    """Also on another number of cores."""
    again = calibrated(draws=300_000, seed=8, execution=hs.Execution(workers=1))
    assert again.noise_multiplier == verified.noise_multiplier


def test_too_few_draws_fall_back_to_the_proven_noise():
    """The guarantee is still a valid one; where no tuples are drawn it is that of an analysis."""
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=10), steps=40)
    method = hs.MonteCarlo(draws=1, seed=8)
    found = hs.calibrate(plan, epsilon=EPSILON, delta=DELTA, method=method)
    allowed = Claim(plan, EPSILON, DELTA, ("remove", "add")).allowed
    proven = hs.account(plan, noise_multiplier=found.noise_multiplier)
    assert 0.8 * allowed < proven.delta(EPSILON) <= allowed
    details = found.guarantee.answer(epsilon=EPSILON).details
    assert not details["accepted"]
    assert details["fallback"] == found.noise_multiplier
    assert found.guarantee.delta(EPSILON) <= DELTA * (1 + 1e-12)


def test_the_bound_of_tuples_is_a_fallback():
    """Or that of an analysis, if it is less; draws of the run agree with it."""
    found = calibrated(draws=1, seed=8)
    details = found.guarantee.answer(epsilon=EPSILON).details
    assert not details["accepted"]
    proven = hs.calibrate(PLAN, epsilon=EPSILON, delta=DELTA, accuracy=0.01).noise_multiplier
    assert found.noise_multiplier == details["fallback"] < 1.02 * proven
    options = {"epsilons": [EPSILON], "draws": 200_000, "seed": 98}
    at = hs.estimate_profile(PLAN, noise_multiplier=found.noise_multiplier, **options)
    assert max(one[0].value for one in at.values()) < DELTA


@pytest.mark.parametrize("options", [{"epsilon": 1.0}, {"failure_probability": 0.1}])
def test_what_only_account_uses_is_refused(options):
    """And not silently ignored."""
    (name,) = options
    with pytest.raises(hs.errors.InvalidParameter, match=name):
        calibrated(**options)
