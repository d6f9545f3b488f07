"""A crowd of members in one direction: correct runs fit, other ways to draw batches do not."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from audit.canary_runs import noise_of
from hockeystick.audit.crowd import Crowd, crowd_fit, crowd_law, crowd_possible

STEPS, NOISE, SIZE = 100, 1.2, 200
POISSON = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=STEPS)
BINS = hs.Plan(
    sampling=hs.BallsInBins(bins=10), steps=STEPS, strategy=hs.strategies.bsr(STEPS, bands=4)
)
ANEW = hs.RandomAllocation(picks=1, out_of=10)


def released(plan, rng, *, sampling=None, noise=NOISE):
    """Along the crowd's direction: how many take part, and noise."""
    scheme = plan.sampling if sampling is None else sampling
    batches = scheme.batches(examples=SIZE, steps=STEPS, rng=rng)
    counts = np.array([batch.size for batch in batches], float)
    return Crowd(SIZE, counts + noise * noise_of(plan.strategy, 1, rng)[0])


def shuffled(examples, rng):
    """Batches of one size, cut from a new permutation of all examples in every epoch."""
    counts = []
    for _ in range(STEPS // 10):
        place = rng.permutation(examples)[:SIZE] * 10 // examples
        counts.append(np.bincount(place, minlength=10))
    return np.concatenate(counts) + NOISE * rng.standard_normal(STEPS)


def smallest(fit):
    """The smallest p-value, corrected for their number."""
    return min(fit.p_gains.min() * fit.p_gains.size, fit.p_spread[0])


@pytest.mark.slow
@pytest.mark.parametrize("plan", [POISSON, BINS], ids=["poisson", "bins"])
def test_p_values_of_correct_runs(plan):
    """1,000 crowds: no statistic is below a probability more often than it may be."""
    rng = np.random.default_rng(0)
    fits = [crowd_fit(plan, NOISE, released(plan, rng), seed=0) for _ in range(1000)]
    values = np.array([[*fit.p_gains, *fit.p_spread] for fit in fits])
    for level, most in ((0.1, 130), (0.01, 21), (0.001, 5)):
        assert (values <= level).sum(axis=0).max() <= most
    # They say something: no statistic is nearly always above one half.
    assert ((values < 0.5).mean(axis=0) > 0.25).all()


@pytest.mark.slow
@pytest.mark.parametrize("examples", [SIZE, 5_000])
def test_shuffled_batches_of_one_size(examples):
    """In 18 of 20 runs of ten epochs, whether the crowd is all of the data or a small part."""
    rng = np.random.default_rng(1)
    fits = [
        crowd_fit(POISSON, NOISE, Crowd(SIZE, shuffled(examples, rng)), seed=0) for _ in range(20)
    ]
    assert sum(smallest(fit) < 0.01 for fit in fits) >= 18
    assert "batches that are shuffled anew in every epoch" in fits[0].names


@pytest.mark.slow
def test_other_plans_and_other_noise():
    """Poisson batches for bins, bins for Poisson batches, a tenth of the noise, twice as many."""
    rng = np.random.default_rng(2)
    wrong = [
        (BINS, released(BINS, rng, sampling=hs.Poisson(rate=0.1))),
        (POISSON, released(POISSON, rng, sampling=BINS.sampling)),
        (POISSON, released(POISSON, rng, noise=12.0)),
        (POISSON, released(POISSON, rng, sampling=hs.Poisson(rate=0.2))),
    ]
    for plan, crowd in wrong:
        assert smallest(crowd_fit(plan, NOISE, crowd, seed=0)) < 1e-6


def test_long_runs_are_worked_on_in_windows():
    """1,100 steps in three windows, whose statistics add up."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=1_100)
    windows, drawn = crowd_law(plan, 1.0, 50, seed=0)
    assert [one.steps.stop - one.steps.start for one in windows] == [500, 500, 100]
    assert drawn.spread.mean() == pytest.approx(1_100, rel=0.02)


def test_crowds_of_a_report():
    """Counts as members, a finding of its own, and what is refused."""
    rng = np.random.default_rng(3)
    rows = NOISE * rng.standard_normal((101, STEPS))
    rows[-1] = shuffled(SIZE, rng)
    members = np.append(np.zeros(100, int), SIZE)
    options = {"noise_multiplier": NOISE, "projections": rows, "members": members}
    report = hs.audit.check(POISSON, **options)
    assert not report.consistent
    assert "crowd of 200 members" in report.findings[0].text
    assert report.describe()["canaries"] == 300
    assert report.describe()["crowd"] == 200
    rows[-1] = released(POISSON, rng).projections
    assert hs.audit.check(POISSON, **options).consistent
    for bad in (np.append(members[:-2], [5, 5]), -members, members.astype(float)):
        with pytest.raises(hs.errors.InvalidParameter, match="members"):
            hs.audit.check(POISSON, **{**options, "members": bad})


def test_public_groups_have_no_crowd():
    """Their members are not independent; runs have canaries alone then."""
    public = hs.Plan(sampling=hs.CyclicPoisson(rate=0.5, groups=2), steps=4)
    assert not crowd_possible(public)
    options = {"noise_multiplier": 1.0, "projections": np.zeros((101, 4))}
    with pytest.raises(hs.errors.InvalidParameter, match="crowd"):
        hs.audit.check(public, members=np.append(np.zeros(100, int), 9), **options)
    run = {"examples": 60, "dimension": 3, "noise_multiplier": 1.0, "max_grad_norm": 1.0}
    assert hs.training.PrivateRun(public, canaries=200, **run).canaries.recorder.members.max() == 1


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_runs_add_up_their_crowd(arithmetic):
    """The last coordinate has the clip norm times the members that are present."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = hs.training.PrivateRun(
        plan,
        examples=60,
        dimension=3,
        noise_multiplier=0.01,
        max_grad_norm=2.0,
        canaries=220,
        arithmetic=arithmetic,
        rng=1,
    )
    canaries = run.canaries
    # A quarter of the canaries, and at most as many as there are examples.
    assert canaries.coordinates == 166
    assert canaries.members == 82 + 55
    for _ in range(2):
        run.step(lambda batch: np.ones((batch.size, 3)))
    rows = canaries.recorder.projections
    np.testing.assert_allclose(rows[-1], 55, atol=0.3)
    np.testing.assert_allclose(rows[:82], 1, atol=0.1)
    np.testing.assert_allclose(rows[82:-1], 0, atol=0.1)
