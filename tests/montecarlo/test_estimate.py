"""The simulation, on cases with a known answer."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick._numerics.gaussian import gaussian_delta

ONE_OF_ONE = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=1), steps=1)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("picks", "out_of", "steps", "mu"), [(1, 1, 1, 2.0), (1, 1, 4, 4.0), (3, 3, 3, 12**0.5)]
)
def test_known_participation_is_the_gaussian_mechanism(direction, picks, out_of, steps, mu):
    """Where nothing is random the closed form lies in the interval."""
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=picks, out_of=out_of), steps=steps)
    found = hs.estimate_delta(
        plan, noise_multiplier=0.5, epsilon=2.0, direction=direction, draws=30_000, rng=1
    )
    assert found.low <= gaussian_delta(mu, 2.0) <= found.high
    assert found.high - found.low < 0.05


def test_a_truncated_block_is_drawn_as_a_whole_one():
    """The first two of five steps, computed exactly."""
    scheme = hs.RandomAllocation(picks=1, out_of=5, truncate=True)
    plan = hs.Plan(sampling=scheme, steps=2)
    exact = hs.account(plan, noise_multiplier=0.6, direction="remove").answer(epsilon=0.5)
    found = hs.estimate_delta(plan, noise_multiplier=0.6, epsilon=0.5, draws=100_000, rng=2)
    assert found.low <= exact.value
    assert exact.lower <= found.high


def test_the_same_seed_gives_the_same_estimate():
    """And another one another."""
    options = {"noise_multiplier": 1.0, "epsilon": 0.5, "draws": 1000}
    first, again, other = (hs.estimate_delta(ONE_OF_ONE, rng=seed, **options) for seed in (7, 7, 8))
    assert first == again != other


def test_more_draws_narrow_the_interval():
    """By about the square root."""
    few, many = (
        hs.estimate_delta(ONE_OF_ONE, noise_multiplier=1.0, epsilon=0.5, draws=n, rng=3)
        for n in (1000, 100_000)
    )
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(10, rel=0.2)


def test_unseen_events_still_have_an_upper_end():
    """No draw beyond epsilon: the estimate is 0, the interval is not."""
    found = hs.estimate_delta(ONE_OF_ONE, noise_multiplier=5.0, epsilon=9.0, draws=1000, rng=4)
    assert found.value == found.low == 0
    assert 0 < found.high < 0.01


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"noise_multiplier": 0.0, "epsilon": 1.0}, "noise_multiplier"),
        ({"noise_multiplier": 1.0, "epsilon": -1.0}, "epsilon"),
        ({"noise_multiplier": 1.0, "epsilon": 1.0, "draws": 0}, "draws"),
        ({"noise_multiplier": 1.0, "epsilon": 1.0, "miss": 1.0}, "miss"),
        ({"noise_multiplier": 1.0, "epsilon": 1.0, "direction": "both"}, "direction"),
    ],
)
def test_invalid_parameters(options, name):
    """Named in the message."""
    with pytest.raises(hs.errors.InvalidParameter, match=name):
        hs.estimate_delta(ONE_OF_ONE, **options)


@pytest.mark.parametrize(
    "plan",
    [
        hs.Plan(sampling=hs.FullBatch(), steps=5),
        hs.Plan(
            sampling=hs.RandomAllocation(picks=1, out_of=5),
            steps=5,
            mechanism=hs.Profile.laplace(scale=1.0),
        ),
        hs.Plan(
            sampling=hs.RandomAllocation(picks=2, out_of=5),
            steps=5,
            strategy=hs.strategies.bsr(5, bands=2),
        ),
    ],
)
def test_what_is_not_simulated(plan):
    """Other schemes, mechanisms, and several picks with correlated noise are refused."""
    with pytest.raises(hs.errors.UnsupportedPlan):
        hs.estimate_delta(plan, noise_multiplier=1.0, epsilon=1.0)
