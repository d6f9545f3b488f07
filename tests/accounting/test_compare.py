"""All candidates for a run, side by side."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.errors import InvalidParameter

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
    assert [plan.sampling.separation for plan in plans] == [4]
    assert plans[0].parameters == {"bands": 4}
    assert plans[0].sampling.rate < 1


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
