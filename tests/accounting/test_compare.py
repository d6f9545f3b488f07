"""All candidates for a run, side by side."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accounting.candidates import OPTIMIZERS, RunSize, candidates, plan_of, users_with
from hockeystick.accounting.compare import ComparisonClock
from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Candidate

RUN = {"examples": 300, "batch_size": 100, "steps": 10}


@pytest.fixture(scope="module")
def compared():
    """A small run."""
    return hs.compare(**RUN, epsilon=3.0, delta=1e-5)


def test_every_candidate_meets_the_target(compared):
    """With its own noise, and not by much."""
    for one in compared:
        noise = one.calibration.noise_multiplier
        guarantee = hs.account(one.plan, noise_multiplier=noise)
        assert 3.0 * (1 - 1e-3) <= guarantee.epsilon(1e-5) <= 3.0
        assert one.answer.value <= 3.0


def test_best_first(compared):
    """By the error, which is the strategy's times the squared noise multiplier."""
    errors = [one.mean_squared_error for one in compared]
    assert errors == sorted(errors)
    for one in compared:
        unit = one.plan.strategy.mean_squared_error()
        assert one.mean_squared_error == one.calibration.noise_multiplier**2 * unit


def test_candidates_have_the_batch_size():
    """Each has the wanted expected batch."""
    plans = candidates(RunSize(**RUN))
    assert len(plans) >= 6
    for plan in plans:
        assert plan.sampling.expected_batch_size(300) == pytest.approx(100, rel=1e-12)


def test_min_sep_excludes_as_many_steps_as_there_are_bands():
    """Where the batch leaves room for exclusion; the rate is below one."""
    plans = list(hs.MinSep.candidates(batch_size=100, examples=1000, steps=20))
    assert [plan.sampling.separation for plan in plans] == [2, 2, 4, 4, 8, 8]
    for plan in plans:
        assert plan.parameters == {"bands": plan.sampling.separation}
        assert plan.sampling.rate < 1
    assert [plan.sampling.separation for plan in plans if not plan.by_draws] == [4]


def test_candidates_that_make_no_sense_are_left_out():
    """No more bands than steps or than the data allow; a full batch only if it is one."""
    everything = candidates(RunSize(examples=10, batch_size=10, steps=1))
    assert {plan.sampling.name for plan in everything} == {"full-batch", "poisson"}
    for one in candidates(RunSize(examples=100, batch_size=30, steps=3)):
        assert one.parameters.get("bands", 1) <= 3
        assert one.sampling.name != "full-batch"


@pytest.mark.parametrize("name", ["epsilon", "delta", "examples", "batch_size", "steps"])
def test_nan_is_refused(name):
    """Whatever the parameter."""
    given = {**RUN, "epsilon": 1.0, "delta": 1e-5, name: float("nan")}
    with pytest.raises(InvalidParameter, match=name):
        hs.compare(**given)


def test_a_start_saves_evaluations():
    """The answer is as safe as without, and the search is shorter."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=50)
    plain = hs.calibrate(plan, epsilon=2.0, delta=1e-5)
    again = hs.calibrate(plan, epsilon=2.0, delta=1e-5, start=plain.noise_multiplier)
    assert again.evaluations == 1
    assert again.noise_multiplier == plain.noise_multiplier
    bad = hs.calibrate(plan, epsilon=2.0, delta=1e-5, start=100.0)
    assert bad.noise_multiplier == pytest.approx(plain.noise_multiplier, rel=5e-4)
    with pytest.raises(InvalidParameter, match="start"):
        hs.calibrate(plan, epsilon=2.0, delta=1e-5, start=0.0)


def test_epochs_are_steps():
    """As many as it takes, rounded up; exactly one of the two is given."""
    assert hs.steps_for(epochs=20, examples=60_000, batch_size=512) == 2344
    assert hs.steps_for(epochs=0.1, examples=1000, batch_size=10) == 10
    assert hs.steps_for(epochs=1e-9, examples=10, batch_size=10) == 1
    sizes = {"examples": 300, "batch_size": 100, "epsilon": 3.0, "delta": 1e-5}
    (one,) = hs.compare(**sizes, epochs=2.5, schemes=["poisson"])
    assert one.plan.steps == 8
    for both in ({}, {"steps": 8, "epochs": 2.5}):
        with pytest.raises(InvalidParameter, match="steps must be given, or epochs"):
            hs.compare(**sizes, **both)
    with pytest.raises(InvalidParameter, match="epochs"):
        hs.compare(**sizes, epochs=float("nan"))


def test_schemes_are_kept_by_name():
    """Only those that were named, and unknown ones are refused."""
    found = hs.compare(**RUN, epsilon=3.0, delta=1e-5, schemes=["poisson", "random-allocation"])
    assert {one.plan.sampling.name for one in found} == {"poisson", "random-allocation"}
    for names, text in (
        (["poison"], "schemes must be among"),
        ("poisson", "a list of names"),
        (["shuffle"], "schemes with candidates for this run"),
    ):
        with pytest.raises(InvalidParameter, match=text):
            hs.compare(**RUN, epsilon=3.0, delta=1e-5, schemes=names)
    with pytest.raises(InvalidParameter, match="quick must be left out"):
        candidates(RunSize(examples=300, batch_size=30, steps=10), schemes=["min-sep"], quick=True)


@pytest.mark.parametrize("users", [None, 3])
def test_quick_candidates_have_tight_bounds(users):
    """A closed form or a convolution: what is declared quick is accounted for tightly.

    The steps are whole rounds of all groups; a last round that is cut short leaves a little slack.
    """
    run = RunSize(examples=320, batch_size=16, steps=48, examples_per_user=users)
    everything = candidates(run)
    quick = [one for one in everything if one.quick]
    assert candidates(run, quick=True) == quick == everything[: len(quick)]
    assert 0 < len(quick) < len(everything)
    for one in quick:
        guarantee = hs.account(plan_of(one, run), noise_multiplier=1.0)
        closed = all(analysis.bound.closed_form for analysis in guarantee.analyses)
        assert closed or guarantee.analyses[0].tight


def test_one_baseline():
    """Plain DP-SGD, of examples and of users: independent noise, and nobody is excluded."""
    for users in (None, 3):
        run = RunSize(examples=320, batch_size=16, steps=40, examples_per_user=users)
        (plain,) = [one for one in candidates(run) if one.baseline]
        assert plain.strategy is None
        assert plain.sampling.least_gap == 1
        assert plain.sampling.unit == ("example" if users is None else "user")


def test_momentum_and_rates_are_what_is_compared_and_optimised():
    """Each error is of the workload, and strategies for it are better than those for another."""
    given = {**RUN, "epsilon": 3.0, "delta": 1e-5, "schemes": ["cyclic-poisson"]}
    plain = hs.compare(**given)
    for rates in (None, "cosine", np.linspace(0.2, 0.1, 10)):
        tuned = hs.compare(**given, momentum=0.9, learning_rates=rates)
        scaled = rates if rates is None or isinstance(rates, str) else rates / 0.2
        workload = hs.strategies.iterates(10, momentum=0.9, learning_rates=scaled)
        for one in tuned:
            unit = one.plan.strategy.mean_squared_error(workload)
            assert one.mean_squared_error == one.calibration.noise_multiplier**2 * unit
        ours, theirs = (
            min(
                one.calibration.noise_multiplier**2 * one.plan.strategy.mean_squared_error(workload)
                for one in found
                if one.plan.strategy.name == "band-mf"
            )
            for found in (tuned, plain)
        )
        assert ours < theirs


@pytest.mark.slow
def test_users_with_several_examples():
    """Separation 1 with independent noise has the least error at small epsilon, BandMF more.

    Both protect users, and the batches have the wanted size.
    """
    found = hs.compare(
        examples=1000, batch_size=40, steps=20, epsilon=1.0, delta=1e-5, examples_per_user=5
    )
    assert {one.plan.sampling.name for one in found} == {"user-min-sep"}
    assert all(one.calibration.guarantee.unit == "user" for one in found)
    assert {one.plan.sampling.examples_per_user for one in found} == {5}
    best, *others = found
    assert best.baseline
    assert not best.plan.correlated
    assert others
    assert all(one.plan.strategy.bands == one.plan.sampling.separation for one in others)
    data = users_with(5, examples=1000)
    for one in found:
        assert one.plan.sampling.expected_batch_size(data) == pytest.approx(40, rel=1e-9)


def test_results_and_progress_come_one_by_one():
    """Each result once, as it is found; each sentence says which of how many, and the time left."""
    texts, came = [], []
    found = hs.compare(
        **RUN,
        epsilon=3.0,
        delta=1e-5,
        schemes=["poisson", "cyclic-poisson"],
        update=texts.append,
        found=came.append,
    )
    assert sorted(map(id, came)) == sorted(map(id, found))
    assert texts[0] == f"1 of {len(found)}: poisson, independent noise"
    for number, text in enumerate(texts[1:], 2):
        assert re.fullmatch(
            rf"{number} of {len(found)}: cyclic-poisson, .*; about \d+ (s|min) left", text
        )


def test_the_time_left_follows_what_was_measured():
    """Declared seconds are scaled by what others took, and replaced by what their like took."""
    slow = Candidate(hs.Poisson(rate=0.1), seconds=10.0)
    quick = Candidate(hs.Poisson(rate=0.1), seconds=1.0)
    clock = ComparisonClock([quick, slow, slow, slow])
    assert clock.left(0) == ""
    clock.took.append(2.0)
    assert clock.left(1) == "; about 60 s left"
    clock.took.append(50.0)
    assert clock.left(2) == "; about 100 s left"
    clock.took.append(100.0)
    assert clock.left(3) == "; about 75 s left"


@pytest.mark.parametrize("name", [one for one, linear in OPTIMIZERS.items() if not linear])
def test_an_optimizer_that_rescales_gradients(name):
    """Only independent noise is tried; what SGD alone has is refused."""
    size = {"examples": 100, "batch_size": 10, "steps": 20}
    tried = candidates(RunSize(**size, optimizer=name))
    assert tried
    assert all(one.strategy is None for one in tried)
    with pytest.raises(InvalidParameter, match="momentum must be left out"):
        RunSize(**size, optimizer=name, momentum=0.9)
    with pytest.raises(InvalidParameter, match="learning_rates must be left out"):
        RunSize(**size, optimizer=name, learning_rates=np.linspace(1, 0.1, 20))
    with pytest.raises(InvalidParameter, match="optimizer must be one of sgd, adam"):
        RunSize(**size, optimizer="lamb")
