"""Audits of NumPy runs, of other loops through a recorder, and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.cli.main import main


def finished(plan, **options):
    """A run with canaries, all of its steps taken."""
    run = hs.training.PrivateRun(
        plan,
        examples=60,
        dimension=3,
        noise_multiplier=1.5,
        max_grad_norm=2.0,
        canaries=400,
        rng=7,
        **options,
    )
    for _ in range(plan.steps):
        gradient = run.step(lambda batch: np.ones((batch.size, 3)))
        assert gradient.shape == (3,)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_numpy_runs_do_what_they_plan(arithmetic):
    """A correlated run with canaries is consistent, also with exact arithmetic."""
    plan = hs.Plan(
        sampling=hs.MinSep(rate=0.2, separation=3),
        steps=12,
        strategy=hs.strategies.bsr(12, bands=3),
    )
    run = finished(plan, arithmetic=arithmetic)
    report = run.audit()
    assert report.consistent
    assert report.fit.noise_factor == pytest.approx(1, abs=0.06)
    assert run.statement(delta=1e-5).examples == 60
    # Canaries that were told to be members and are not would be noticed.
    other = hs.audit.check(
        run.plan,
        noise_multiplier=1.5,
        projections=report.projections,
        members=~report.members,
    )
    assert not other.consistent


def test_canaries_change_nothing_else():
    """Without canaries there is no audit; with a filter there are none; size is the examples'."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=3)
    options = {"examples": 60, "dimension": 3, "noise_multiplier": 1.0, "max_grad_norm": 1.0}
    run = hs.training.PrivateRun(plan, **options)
    with pytest.raises(hs.errors.PlanMismatch, match="no canaries"):
        run.audit()
    assert hs.training.PrivateRun(plan, canaries=100, **options).expected_batch_size == 30
    budget = hs.filters.Renyi(epsilon=5.0, delta=1e-5)
    with pytest.raises(hs.errors.InvalidParameter, match="filter"):
        hs.training.PrivateRun(plan, canaries=100, filter=budget, **options)


def test_recorder_refuses_what_is_no_step():
    """Another length, one step more than planned, and an audit of nothing."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    recorder = hs.audit.Recorder(
        plan, noise_multiplier=1.0, max_grad_norm=1.0, members=np.ones(100, bool)
    )
    with pytest.raises(hs.errors.PlanMismatch):
        recorder.audit()
    with pytest.raises(hs.errors.InvalidParameter):
        recorder.add(np.zeros(99))
    recorder.add(np.zeros(100))
    with pytest.raises(hs.errors.PlanMismatch):
        recorder.add(np.zeros(100))


@pytest.mark.slow
def test_command_line(tmp_path, capsys):
    """`hockeystick audit`: status 0 for a run like its plan, 1 for half the noise, a picture."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.4), steps=8)
    run = finished(plan)
    run._sources.canaries.recorder.save(tmp_path / "run.npz")
    described = ["--sampling", "poisson", "--rate", "0.4", "--steps", "8"]
    file = ["--projections", str(tmp_path / "run.npz")]
    picture = tmp_path / "audit.png"
    noise = ["--noise-multiplier", "1.5", "--delta", "1e-3"]
    assert main(["audit", *described, *file, *noise, "--plot", str(picture), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["consistent"] is True
    assert 0 < found["epsilon_lower"] <= hs.account(plan, noise_multiplier=1.5).epsilon(1e-3)
    assert picture.stat().st_size > 1000
    assert main(["audit", *described, *file, "--noise-multiplier", "3"]) == 1
    found = capsys.readouterr().out.split("the noise is ")[1].split()[0]
    assert float(found) == pytest.approx(0.5, abs=0.02)
    np.savez(tmp_path / "other.npz", rows=np.zeros(3))
    wrong = ["--projections", str(tmp_path / "other.npz")]
    assert main(["audit", *described, *wrong, "--noise-multiplier", "3"]) == 2


def test_losses_of_canaries():
    """Scores without information prove nothing; a wide gap proves a large epsilon."""
    rng = np.random.default_rng(0)
    members = rng.random(1000) < 0.5
    assert hs.audit.epsilon_of_losses(rng.normal(size=1000), members, delta=1e-5) == 0
    gap = rng.normal(size=1000) - 10 * members
    assert 4 < hs.audit.epsilon_of_losses(gap, members, delta=1e-5) < 7
