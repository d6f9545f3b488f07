"""PyTorch runs whose noise, rate and clip norm change between steps."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter, PlanMismatch, UnsupportedPlan
from hockeystick.training import TakenSteps
from pytorch import adapted_run


def filtered(runs, **options):
    """A run with a filter that has enough for all of it."""
    budget = hs.filters.Gaussian(mu=30.0)
    return runs.private(runs.independent(), filter=budget, **options), budget


def rows(run):
    """The noise of the next step, drawn once more."""
    stream = run.plan.noise(
        sum(p.numel() for p in run.model.parameters()),
        scale=run.noise_multiplier * run.max_grad_norm,
        rng=run.optimizer._noise.key,
        arithmetic=run.arithmetic,
        resolution=None if run.arithmetic == "float" else run.optimizer._noise._rows.resolution,
    )
    stream.forward(run.taken_steps)
    return torch.from_numpy(next(stream)).double() * getattr(stream, "lattice", 1.0)


@pytest.mark.parametrize(
    ("clipping", "arithmetic", "most"),
    [("per-sample", "float", None), ("ghost", "float", 7), ("ghost", "exact", None)],
)
def test_the_next_step_has_the_new_settings(runs, clipping, arithmetic, most):
    """Batch, division, clipping, noise and charge; in parts, and on a lattice."""
    run, budget = filtered(runs, clipping=clipping, arithmetic=arithmetic, physical_batch_size=most)
    points = runs.data().tensors[0]
    for changes in ({}, {"rate": 1.0, "max_grad_norm": 0.1}, {"noise_multiplier": 4.0}, {}):
        if changes:
            run.set(**changes)
        noise, before, clip = rows(run), runs.weights(run), run.max_grad_norm
        batches, path = runs.train(run, until=run.taken_steps + 1)
        drawn = [number for batch in batches for number in batch]
        moved = (before - path[-1]).double() * run.expected_batch_size
        wanted = runs.clipped_sum(points[drawn], clip) + noise
        assert torch.allclose(moved, wanted, rtol=1e-3, atol=1e-3 * clip)
    assert len(drawn) == runs.EXAMPLES == run.expected_batch_size
    assert run.history == (
        TakenSteps(1, runs.NOISE, runs.CLIP, runs.RATE),
        TakenSteps(1, runs.NOISE, 0.1, 1.0),
        TakenSteps(2, 4.0, 0.1, 1.0),
    )
    charged = [(e.request["rate"], e.request["noise_multiplier"]) for e in budget.history]
    assert charged == [(p.rate, p.noise_multiplier) for p in run.history for _ in range(p.steps)]
    assert (run.optimizer.noise_multiplier, run.rate) == (4.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("persistent", [False, True])
def test_what_workers_loaded_ahead_is_not_used(runs, persistent):
    """They have loaded batches at the old rate; the next one is drawn at the new one."""
    options = {"num_workers": 1, "prefetch_factor": 4, "persistent_workers": persistent}
    run, budget = filtered(runs, loader_options=options)
    sizes = []
    criterion = run.loss(runs.LinearLoss())
    for points, _ in run.loader:
        criterion(run.model(points)).backward()
        run.optimizer.step()
        sizes.append((len(points), run.rate))
        if run.taken_steps in (3, 7):
            run.set(rate={3: 1.0, 7: 0.05}[run.taken_steps])
    assert run.taken_steps == runs.STEPS
    assert [size for size, rate in sizes if rate == 1.0] == [runs.EXAMPLES] * 4
    assert max(size for size, rate in sizes if rate == 0.05) < runs.EXAMPLES / 2
    assert [e.request["rate"] for e in budget.history] == [rate for _, rate in sizes]


def test_settings_change_between_steps_only(runs):
    """A batch that is out was drawn and charged with the settings that it has."""
    run, budget = filtered(runs, physical_batch_size=2)
    criterion = run.loss(runs.LinearLoss())
    passing = iter(run.loader)
    for part in range(2):
        points, _ = next(passing)
        with pytest.raises(PlanMismatch, match="drawn and accounted for already"):
            run.set(noise_multiplier=3.0)
        if part == 0:
            criterion(run.model(points)).backward()
            run.optimizer.step()
    # The pass is left; the batch comes again, and is charged once.
    with pytest.raises(PlanMismatch, match="drawn and accounted for already"):
        run.set(rate=0.9)
    assert len(budget.history) == 1
    runs.train(run, until=1)
    run.set(rate=0.9)
    assert (run.taken_steps, run.rate) == (1, 0.9)
    run.close()
    with pytest.raises(PlanMismatch, match="closed"):
        run.set(rate=0.8)


def test_what_may_not_change(runs):
    """Without a filter nothing, also not by assignment; with one no rate of full batches."""
    fixed = runs.private(runs.banded())
    for name in ("noise_multiplier", "rate", "max_grad_norm"):
        with pytest.raises(PlanMismatch, match="only in a run with a filter"):
            fixed.set(**{name: 0.5})
        with pytest.raises(PlanMismatch):
            setattr(fixed, name, 0.5)
    whole = runs.private(
        hs.Plan(sampling=hs.FullBatch(), steps=3), filter=hs.filters.Gaussian(mu=3.0)
    )
    with pytest.raises(UnsupportedPlan, match="full-batch"):
        whole.set(rate=0.5)
    with pytest.raises(InvalidParameter, match="max_grad_norm"):
        whole.set(max_grad_norm=-1)
    with pytest.raises(UnsupportedPlan, match="independent noise"):
        runs.private(runs.banded(), max_grad_norm=hs.training.AdaptiveClipping(start=1.0))


@pytest.mark.parametrize("policy", [None, 0.5])
def test_a_restored_run_has_the_settings_of_the_saved_one(runs, policy):
    """Its batches, noise and clip norms go on as if nothing had happened."""
    options = {}
    if policy is not None:
        options["max_grad_norm"] = hs.training.AdaptiveClipping(start=0.4, quantile=policy)
    run, budget = filtered(runs, **options)
    runs.train(run, until=3)
    run.set(rate=0.4, noise_multiplier=3.0)
    runs.train(run, until=6)
    run.set(noise_multiplier=2.0, max_grad_norm=0.7)
    state = copy.deepcopy(run.state_dict())
    whole = runs.train(run)
    other = runs.private(runs.independent(), filter=budget, **{**options, "rng": 8})
    other.load_state_dict(state)
    assert (other.rate, other.noise_multiplier, other.max_grad_norm) == (0.4, 2.0, 0.7)
    batches, path = runs.train(other)
    assert batches == whole[0]
    assert all(torch.equal(a, b) for a, b in zip(path, whole[1], strict=True))
    assert other.history == run.history
    state["optimizer"]["hockeystick"]["now"]["noise_multiplier"] = 1.0
    with pytest.raises(PlanMismatch):
        runs.private(runs.independent(), filter=budget, **options).load_state_dict(state)
    with pytest.raises(PlanMismatch):
        runs.private(runs.independent()).load_state_dict(state)


def test_noise_of_a_step_is_never_used_on_two_scales(runs):
    """A run that is restored and then changed in another way draws other batches and noise."""
    run, budget = filtered(runs)
    runs.train(run, until=2)
    state = run.state_dict()
    found = []
    for noise in (2.0, 4.0, 2.0):
        other = runs.private(runs.independent(), filter=budget)
        other.load_state_dict(state)
        other.set(noise_multiplier=noise)
        found.append((rows(other) / noise, other.optimizer._checkpoint._batches.batch(2)))
    (first, batch), (second, other_batch), (third, same_batch) = found
    assert torch.equal(first, third)
    assert np.array_equal(batch, same_batch)
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 0.1
    assert not np.array_equal(batch, other_batch)


def test_other_decisions_after_a_restore_are_charged(runs, tmp_path):
    """Also if only the clip norm differs: the steps have noise of their own, and both count."""

    def made():
        budget = hs.filters.Gaussian(mu=30.0, ledger=tmp_path / "budget.db")
        return runs.private(runs.independent(), filter=budget), budget

    run, budget = made()
    runs.train(run, until=2)
    state, lineage = copy.deepcopy(run.state_dict()), run.optimizer._noise.lineage
    run.set(max_grad_norm=0.3)
    assert run.optimizer._noise.lineage != lineage
    runs.train(run, until=4)
    other, _ = made()
    other.load_state_dict(state)
    assert other.optimizer._noise.lineage == lineage
    runs.train(other, until=4)
    assert len(budget.history) == 6


def test_individual_budgets_are_charged_for_the_present_settings(runs):
    """Full batches, of which everybody is charged (norm / clip norm / noise)^2, at most 1."""
    budgets = hs.filters.Individual.gaussian(examples=runs.EXAMPLES, mu=9.0)
    run = runs.private(
        hs.Plan(sampling=hs.FullBatch(), steps=3),
        filter=budgets,
        loss=lambda model, batch: model(batch[0]).sum(dim=1),
    )
    norms = runs.data().tensors[0].norm(dim=1).numpy() * np.sqrt(runs.OUTPUTS)
    runs.train(run, until=1)
    run.set(noise_multiplier=3.0, max_grad_norm=float(np.median(norms)))
    runs.train(run, until=2)
    charged = np.minimum(norms / runs.CLIP, 1.0) ** 2 / runs.NOISE**2
    charged += np.minimum(norms / np.median(norms), 1.0) ** 2 / 9.0
    assert np.allclose(budgets.spent, charged, rtol=1e-4)
    stated = run.statement(delta=1e-5)
    assert [part[1] for part in stated.taken_schedule] == [runs.NOISE, 3.0]
    assert hs.training.check_statement(stated).holds


@pytest.mark.slow
def test_killed_restored_and_verified(tmp_path):
    """Ledger, record and statement agree, and the command recomputes the statement."""
    command = [sys.executable, "-W", "ignore", adapted_run.__file__, str(tmp_path)]
    assert subprocess.run(command, check=False, timeout=300).returncode == 9
    run, budget = adapted_run.made(tmp_path)
    before = len(budget.history)
    run.load(tmp_path / "saved")
    assert (run.taken_steps, run.noise_multiplier, run.rate) == (adapted_run.SAVED, 1.5, 0.5)
    adapted_run.train(run, adapted_run.STEPS)
    schedule = [(p.rate, p.noise_multiplier) for p in run.history for _ in range(p.steps)]
    assert schedule == [(0.3, 1.2)] * 2 + [(0.5, 1.5)] * 6 + [(0.2, 2.5)] * 4
    assert len({part.clip_norm for part in run.history}) == adapted_run.STEPS
    # The ledger has every step of the schedule in its order, and those that died in between.
    charged = [(e.request["rate"], e.request["noise_multiplier"]) for e in budget.history]
    assert before >= adapted_run.KILLED
    assert charged[: adapted_run.SAVED] == schedule[: adapted_run.SAVED]
    rest = schedule[adapted_run.SAVED :]
    assert charged[-len(rest) :] == rest
    assert budget.spent == pytest.approx(sum(1 / noise**2 for _, noise in charged), rel=1e-9)
    record, stated = run.record(), run.statement(delta=1e-5)
    assert stated.taken_schedule == record.taken_schedule
    assert [tuple(part) for part in stated.taken_schedule] == [tuple(p) for p in run.history]
    assert stated.epsilon == pytest.approx(budget.guarantee().epsilon(1e-5), rel=1e-9)
    stated.save(tmp_path / "statement.json")
    assert main(["verify", str(tmp_path / "statement.json")]) == 0
    edited = json.loads((tmp_path / "statement.json").read_text())
    edited["taken_schedule"][-1][1] = 0.1
    (tmp_path / "statement.json").write_text(json.dumps(edited))
    assert main(["verify", str(tmp_path / "statement.json")]) != 0


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_adaptive_clipping_finds_the_quantile(runs, clipping):
    """With empty batches among them; counts do not depend on how batches are cut."""
    policy = hs.training.AdaptiveClipping(start=1.0, learning_rate=0.5, count_noise=1.6)
    clips = []
    for most in (None, 3):
        run = runs.private(
            runs.independent(40), max_grad_norm=policy, clipping=clipping, physical_batch_size=most
        )
        runs.train(run)
        clips.append([part.clip_norm for part in run.history])
    assert np.allclose(clips[0], clips[1], rtol=1e-12)
    norms = runs.data().tensors[0].norm(dim=1).numpy() * np.sqrt(runs.OUTPUTS)
    low, high = np.quantile(norms, [0.02, 0.98])
    assert low * 0.7 < clips[0][-1] < high * 1.4
    assert run.statement(delta=1e-5).noise_multiplier == runs.NOISE
