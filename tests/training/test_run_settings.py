"""What was accounted cannot be assigned to during a NumPy run."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import PlanMismatch
from hockeystick.training import PrivateRun
from in_one_test import in_one_test

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=4)


def started(**options):
    """A run after its first step."""
    settled = {"noise_multiplier": 1.5, "max_grad_norm": 2.0, "rng": 3, **options}
    run = PrivateRun(PLAN, examples=8, dimension=2, **settled)
    run.step(lambda batch: np.ones((batch.size, 2)))
    return run


@in_one_test
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise_multiplier", 3),
        ("max_grad_norm", 0.1),
        ("plan", hs.Plan(sampling=hs.Poisson(rate=0.5), steps=400)),
        ("taken_steps", 0),
        ("expected_batch_size", 1.0),
        ("step", print),
        ("statement", None),
        ("_noise_multiplier", 3),
        ("_plan", None),
        ("_seeded", False),
        ("_noise", None),
    ],
)
def test_a_setting_cannot_change(name, value):
    """One sentence with what was accounted, instead of silence."""
    run = started()
    with pytest.raises(
        PlanMismatch, match=f"^{name.lstrip('_')} cannot change during a run: .*\\.$"
    ):
        setattr(run, name, value)
    assert run.noise_multiplier == 1.5
    assert run.max_grad_norm == 2.0
    assert run.plan is PLAN
    assert run.statement(delta=1e-5).noise_multiplier == 1.5


@pytest.mark.parametrize("name", ["noise_multipler", "clip", "filter", "rng"])
def test_a_setting_that_does_not_exist(name):
    """A misspelled name is not taken either."""
    with pytest.raises(PlanMismatch, match=f"^A private run has no setting {name}"):
        setattr(started(), name, 3)


def test_a_seeded_state_makes_the_statement_say_so():
    """The noise of the run then came from a seed that somebody knows."""
    run = started(rng=None)
    assert not run.statement(delta=1e-5).seeded
    known = PLAN.noise(2, scale=3.0, dtype=np.float64, rng=7)
    run._noise.restore(known.state())
    assert run.statement(delta=1e-5).seeded
    assert "random seed was chosen" in run.statement(delta=1e-5).paragraph()
