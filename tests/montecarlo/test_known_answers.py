"""Simulated deltas and likelihood ratios where another part of the package knows the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.draws import Job, Payoff, draw_piece, pieces_of
from hockeystick.schemes.simulation import Simulation, runs_of
from hockeystick.schemes.simulation.participation_run import half_norms, log_ratios

DRAWS = 40_000


def estimated(plan, **options):
    """An interval for each of two epsilons, in both directions."""
    return hs.estimate_profile(plan, epsilons=[0.2, 1.0], draws=DRAWS, seed=31, **options)


def assert_inside(found, guarantee_in):
    """The proven bounds meet every interval, and the intervals are narrow."""
    for side, estimates in found.items():
        for epsilon, estimate in zip([0.2, 1.0], estimates, strict=True):
            exact = guarantee_in(side).answer(epsilon=epsilon)
            assert estimate.low <= exact.value
            assert exact.lower <= estimate.high
            assert estimate.high - estimate.low < 0.05


@pytest.mark.parametrize(
    "scheme",
    [
        hs.Poisson(rate=0.1),
        hs.MinSep(rate=0.1, separation=1),
        hs.MinSep(rate=0.1, separation=1, warm_start=False),
    ],
)
def test_without_rest_it_is_poisson_sampling(scheme):
    """Whose profile is exact."""
    found = estimated(hs.Plan(sampling=scheme, steps=30), noise_multiplier=0.9)
    poisson = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=30)
    assert_inside(found, lambda side: hs.account(poisson, noise_multiplier=0.9, direction=side))


def test_users_without_rest_have_an_exact_profile():
    """Several examples in a step: the binomial mixture, composed."""
    scheme = hs.UserMinSep(rate=0.05, separation=1, examples_per_user=3)
    plan = hs.Plan(sampling=scheme, steps=20)
    found = estimated(plan, noise_multiplier=1.5)
    assert_inside(
        found,
        lambda side: hs.account(plan, noise_multiplier=1.5, direction=side, method="profile"),
    )


def test_public_groups_are_worse_than_secret_ones():
    """A random phase only hides more."""
    secret = hs.Plan(sampling=hs.CyclicPoisson(rate=0.4, groups=4, random_phase=True), steps=24)
    public = hs.Plan(sampling=hs.CyclicPoisson(rate=0.4, groups=4), steps=24)
    found = estimated(secret, noise_multiplier=1.0)
    for side, estimates in found.items():
        exact = hs.account(public, noise_multiplier=1.0, direction=side)
        for epsilon, estimate in zip([0.2, 1.0], estimates, strict=True):
            assert estimate.high < exact.delta(epsilon)


@pytest.mark.parametrize("strategy", [strategies.bsr(40, bands=10), strategies.identity(37)])
def test_rate_one_with_a_warm_start_is_balls_in_bins(strategy):
    """The same likelihood ratio at the same outputs, although one sees steps and one sees bins."""
    matrix, noise = strategy.to_matrix(), 0.8
    y = np.random.default_rng(8).normal(0.1, noise, (200, strategy.steps))
    found = []
    for scheme in (hs.MinSep(rate=1.0, separation=10), hs.BallsInBins(bins=10)):
        plan = hs.Plan(sampling=scheme, steps=strategy.steps, strategy=strategy)
        run = Simulation(plan=plan, noise_multipliers=(noise,), present=True).prepared()
        means = matrix
        if isinstance(scheme, hs.BallsInBins):
            means = np.array([matrix[:, first::10].sum(axis=1) for first in range(10)]).T
        half = half_norms(run.columns.squared_norms, noise)
        found.append(log_ratios(run.law, y @ means / noise**2 - half, half))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)
    assert np.std(found[0]) > 0.01


def test_long_runs_in_logarithms():
    """Where staying out underflows, draws still have means of one over the ratio near 1."""
    plan = hs.Plan(sampling=hs.MinSep(rate=0.5, separation=2), steps=2_000)
    run = Simulation(plan=plan, noise_multipliers=(30.0,), present=True)
    (drawn,) = run.prepared().draws(50, np.random.default_rng(1))
    inverse = np.exp(-drawn.losses[0])
    error = inverse.std() / np.sqrt(inverse.size)
    assert abs(inverse.mean() - 1) < 4 * error


@pytest.mark.parametrize("name", ["remove", "add"])
def test_hardly_any_noise(name):
    """Nothing is hidden from who sees everything: delta is the chance of taking part at all."""
    plan = hs.Plan(sampling=hs.MinSep(rate=0.05, separation=2, warm_start=False), steps=5)
    found = hs.estimate_delta(
        plan, noise_multiplier=1e-4, epsilon=0.0, direction=name, draws=20_000, rng=3
    )
    assert found.low <= 1 - 0.95**5 <= found.high


def test_noise_beyond_floating_point():
    """Said, rather than counted as nothing."""
    plan = hs.Plan(sampling=hs.MinSep(rate=0.05, separation=2), steps=5)
    with pytest.raises(hs.errors.PrecisionError, match="Noise multiplier"):
        hs.estimate_delta(plan, noise_multiplier=1e-200, epsilon=1.0, draws=10)


# -- users with fewer examples --------------------------------------------------------------------

BUSY = hs.UserMinSep(rate=0.3, separation=8, examples_per_user=2, warm_up=7)


def delta_of(run, epsilon):
    """The mean hockey stick of draws of one run, and its standard error."""
    job = Job(run, (Payoff(epsilon),), DRAWS, seed=5)
    (sums,) = (draw_piece(piece) for piece in pieces_of(job))
    return float(sums.means[0, 0]), float(np.sqrt(sums.variances[0, 0] / DRAWS))


@pytest.mark.parametrize("present", [True, False])
def test_fewer_examples_can_be_worse(present):
    """A user with one example is blocked less, and so takes part more often."""
    plan = hs.Plan(sampling=BUSY, steps=30, strategy=strategies.bsr(30, bands=5))
    one, two = (replace(run, noise_multipliers=(1.0,)) for run in runs_of(plan, present=present))
    (less, error), (more, other) = delta_of(one, 0.2), delta_of(two, 0.2)
    assert (one.held, two.held) == (1, 2)
    assert less > more + 6 * np.hypot(error, other)


def test_estimates_take_the_worst_number_of_examples():
    """Not the largest number."""
    plan = hs.Plan(sampling=BUSY, steps=30, strategy=strategies.bsr(30, bands=5))
    single = hs.Plan(sampling=replace(BUSY, examples_per_user=1), steps=30, strategy=plan.strategy)
    both, alone = (
        hs.estimate_profile(p, noise_multiplier=1.0, epsilons=[1.0], draws=20_000, seed=2)
        for p in (plan, single)
    )
    for side in ("remove", "add"):
        assert both[side][0].high >= alone[side][0].low
        assert both[side][0].value == pytest.approx(alone[side][0].value, rel=0.1)


@pytest.mark.parametrize("scheme", [hs.UserMinSep, hs.ConjecturedUserMinSep])
def test_every_number_of_examples_is_looked_at(scheme):
    """Except without rests, where the largest is the worst."""
    for separation, expected in [(4, [1, 2, 3]), (1, [3])]:
        sampling = scheme(rate=0.1, separation=separation, examples_per_user=3)
        plan = hs.Plan(sampling=sampling, steps=8)
        for present in (True, False):
            runs = runs_of(plan, present=present)
            assert [run.held for run in runs] == expected
            assert all(run.present is present for run in runs)


def test_examples_have_one_run():
    """One direction, one run."""
    plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    assert [run.held for run in runs_of(plan, present=True)] == [1]
