"""`hs.audit.check`: correct runs are consistent, wrong ones are not, and it says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from audit.canary_runs import BSR, NOISE, PLANS, STEPS, noise_of, projections, restarted
from hockeystick.audit.hypotheses import decorrelated, log_ratios

MEMBERS = np.arange(1000) < 1000
SHUFFLED = hs.RandomAllocation(picks=1, out_of=20)


def checked(plan, noise_multiplier, rows, members=MEMBERS):
    """The report of `check`."""
    return hs.audit.check(
        plan, noise_multiplier=noise_multiplier, projections=rows, members=members
    )


def enumerated(plan, noise, outputs, draws):
    """log LR by an average over participations, which are given with their probabilities."""
    matrix = plan.strategy.to_matrix()
    found = []
    for row in outputs:
        terms = [
            p * np.exp((matrix @ x) @ row / noise**2 - (matrix @ x) @ (matrix @ x) / 2 / noise**2)
            for x, p in draws
        ]
        found.append(np.log(sum(terms)))
    return np.array(found)


def test_scores_are_the_likelihood_ratio_of_the_plan():
    """The score is log LR: the average over all ways to take part, by enumeration."""
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(5, 4))
    bsr = hs.strategies.bsr(4, bands=2)
    coins = [np.array([(k >> i) & 1 for i in range(4)], float) for k in range(16)]
    poisson = [(x, 0.3 ** x.sum() * 0.7 ** (4 - x.sum())) for x in coins]
    bins = [(np.array([1.0, 0, 1, 0]), 0.5), (np.array([0, 1.0, 0, 1]), 0.5)]
    blocks = [(np.concatenate((a, b)), 0.25) for a in np.eye(2) for b in np.eye(2)]
    cases = [
        (hs.Plan(sampling=hs.Poisson(rate=0.3), steps=4), poisson),
        (hs.Plan(sampling=hs.BallsInBins(bins=2), steps=4, strategy=bsr), bins),
        (hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=2), steps=4), blocks),
        (hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=bsr), [(np.ones(4), 1.0)]),
    ]
    for plan, draws in cases:
        expected = enumerated(plan, 0.8, outputs, draws)
        np.testing.assert_allclose(log_ratios(plan, 0.8, outputs), expected, rtol=1e-10)


@pytest.mark.slow
def test_correct_runs_are_consistent_and_wrong_noise_is_not():
    """Poisson: four correct runs; noise 10 % too small is noticed, measured and says so."""
    plan, noise, rng = PLANS["poisson"], NOISE["poisson"], np.random.default_rng(1)
    for _ in range(4):
        assert checked(plan, noise, projections(plan, noise, MEMBERS, rng)).consistent
    report = checked(plan, noise, projections(plan, 0.9 * noise, MEMBERS, rng))
    assert not report.consistent
    assert report.fit.noise_factor == pytest.approx(0.9, abs=0.003)
    assert "noise is 0.9" in str(report)


@pytest.mark.slow
def test_what_is_wrong_is_named():
    """Shuffled batches, doubled gradients, steps without noise: each is a finding of its own."""
    plan, noise, rng = PLANS["poisson"], NOISE["poisson"], np.random.default_rng(2)
    shuffled = projections(plan, noise, MEMBERS, rng, sampling=SHUFFLED)
    assert "shuffled anew" in checked(plan, noise, shuffled).findings[0].text
    doubled = projections(plan, noise, MEMBERS, rng, amplitude=2.0)
    assert any("count twice" in one.text for one in checked(plan, noise, doubled).findings)
    often = projections(plan, noise, MEMBERS, rng, sampling=hs.Poisson(rate=0.1))
    assert any("twice as often" in one.text for one in checked(plan, noise, often).findings)
    silent = noise_of(plan.strategy, 1000, rng)
    silent[:, [10, 200]] = 0.0
    rows = projections(plan, noise, MEMBERS, rng, noise=silent)
    assert any("missing in step 11, 201" in one.text for one in checked(plan, noise, rows).findings)


@pytest.mark.slow
def test_correlation_of_the_noise():
    """BSR(4): noise that begins anew in the middle, and noise that is not correlated at all."""
    plan, noise, rng = PLANS["balls-in-bins"], NOISE["balls-in-bins"], np.random.default_rng(3)
    assert checked(plan, noise, projections(plan, noise, MEMBERS, rng)).consistent
    anew = restarted(BSR, 1000, rng, at=250)
    found = checked(plan, noise, projections(plan, noise, MEMBERS, rng, noise=anew)).findings
    assert "begins anew at step 251" in found[0].text
    plain = rng.standard_normal((1000, STEPS))
    found = checked(plan, noise, projections(plan, noise, MEMBERS, rng, noise=plain)).findings
    assert any("not correlated" in one.text for one in found)


@pytest.mark.slow
def test_p_values_are_not_too_small():
    """Of 100 correct runs of a short plan, none is inconsistent; p-values are not concentrated."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.3), steps=10)
    members, rng = np.arange(200) < 100, np.random.default_rng(4)
    found = [checked(plan, 1.0, projections(plan, 1.0, members, rng), members) for _ in range(100)]
    assert all(report.consistent for report in found)
    # Corrected for the number of tests, p < 0.1 has a probability of at most 0.1.
    assert sum(report.p_value < 0.1 for report in found) <= 20


@pytest.mark.slow
def test_canaries_that_are_all_members_or_none():
    """Both kinds of audits are consistent for a correct run, with and without correlated noise."""
    rng = np.random.default_rng(8)
    for strategy in (None, hs.strategies.bsr(20, bands=3)):
        plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20, strategy=strategy)
        for members in (np.ones(200, bool), np.zeros(200, bool)):
            report = checked(plan, 1.0, projections(plan, 1.0, members, rng), members)
            assert report.consistent
            with pytest.raises(hs.errors.InvalidParameter, match="members and others"):
                report.epsilon_lower(1e-3)


def test_what_is_refused():
    """Too few canaries, another shape, no booleans, users, and numbers that are none."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.3), steps=3)
    good = np.zeros((100, 3))
    for rows, members in (
        (good[:99], np.ones(99, bool)),
        (good[:, :2], np.ones(100, bool)),
        (good, np.ones(100)),
        (good, np.ones(99, bool)),
        (good * np.nan, np.ones(100, bool)),
    ):
        with pytest.raises(hs.errors.InvalidParameter):
            hs.audit.check(plan, noise_multiplier=1.0, projections=rows, members=members)
    users = hs.Plan(sampling=hs.UserMinSep(rate=0.1, separation=2, examples_per_user=2), steps=3)
    with pytest.raises(hs.errors.UnsupportedPlan):
        hs.audit.check(users, noise_multiplier=1.0, projections=good, members=np.ones(100, bool))


def test_decorrelation():
    """C p has independent noise: C times C^-1 Z."""
    rng = np.random.default_rng(5)
    z = rng.standard_normal((3, STEPS))
    rows = np.linalg.solve(BSR.to_matrix(), z.T).T
    np.testing.assert_allclose(decorrelated(BSR, rows), z, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("name", PLANS)
def test_300_correct_runs(name):
    """At least 99 % of 300 correct runs of 1,000 canaries are consistent, for three schemes."""
    plan, noise, rng = PLANS[name], NOISE[name], np.random.default_rng(6)
    members = np.arange(1000) % 2 == 0
    wrong = sum(
        not checked(plan, noise, projections(plan, noise, members, rng), members).consistent
        for _ in range(300)
    )
    assert wrong <= 3


@pytest.mark.long
@pytest.mark.parametrize("wrong", ["noise", "shuffled", "restart"])
def test_300_wrong_runs(wrong):
    """At least 99 % of 300 wrong runs are inconsistent."""
    name = "balls-in-bins" if wrong == "restart" else "poisson"
    plan, noise, rng = PLANS[name], NOISE[name], np.random.default_rng(7)
    missed = 0
    for _ in range(300):
        options = {}
        if wrong == "shuffled":
            options["sampling"] = SHUFFLED
        if wrong == "restart":
            options["noise"] = restarted(BSR, 1000, rng, at=250)
        scale = 0.9 * noise if wrong == "noise" else noise
        missed += checked(plan, noise, projections(plan, scale, MEMBERS, rng, **options)).consistent
    assert missed <= 3
