"""A run that is saved and restored goes on as if nothing had happened."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
import torch

import hockeystick as hs
from hockeystick.errors import PlanMismatch


def same(mine, theirs) -> bool:
    """The same batches, and the same weights to the bit."""
    (batches, path), (others, their_path) = mine, theirs
    equal = all(torch.equal(a, b) for a, b in zip(path, their_path, strict=True))
    return batches == others and equal


@pytest.mark.slow
def test_ten_steps_then_a_new_process_is_the_uninterrupted_run(runs, tmp_path):
    """Other seeds and weights over there do not matter: all of it is in the state."""
    whole = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded())
    runs.train(run, until=10)
    torch.save(run.state_dict(), tmp_path / "state.pt")
    arguments = [runs.__file__, str(tmp_path / "state.pt"), str(tmp_path / "rest.pt")]
    subprocess.run([sys.executable, "-W", "ignore", *arguments], check=True, timeout=120)
    rest = torch.load(tmp_path / "rest.pt")
    assert len(rest[0]) == 6
    assert same(rest, (whole[0][10:], whole[1][10:]))


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("rng", [3, None])
def test_the_state_of_the_optimizer_is_enough(runs, clipping, rng):
    """Noise and batches are in it; momentum and the rest of PyTorch's own state are as well."""
    run = runs.private(runs.banded(), clipping=clipping, rng=rng)
    runs.train(run, until=5)
    file = io.BytesIO()
    torch.save((run.model.state_dict(), run.optimizer.state_dict()), file)
    file.seek(0)
    other = runs.private(runs.banded(), clipping=clipping, rng=8, model=runs.linear_model(9))
    weights, state = torch.load(file)
    other.model.load_state_dict(weights)
    other.optimizer.load_state_dict(state)
    assert other.taken_steps == 5
    assert same(runs.train(other), runs.train(run))


def test_saving_in_the_middle_of_a_logical_batch(runs):
    """The state is that of the last whole step, whose successor is loaded again in full."""
    whole = runs.train(runs.private(runs.banded(), physical_batch_size=2))
    run = runs.private(runs.banded(), physical_batch_size=2)
    model, optimizer, loader = run
    for number, (points, _) in enumerate(loader):
        run.loss(runs.LinearLoss())(model(points)).backward()
        optimizer.step()
        if number == 4:
            break
    taken = run.taken_steps
    other = runs.private(runs.banded(), physical_batch_size=2, rng=5)
    other.load_state_dict(run.state_dict())
    rest = runs.train(other)
    assert other.taken_steps == 16 > taken > 0
    start = len(whole[0]) - len(rest[0])
    assert 0 < start <= 4
    assert same(rest, (whole[0][start:], whole[1][start:]))


def test_a_pass_that_was_left_goes_on_in_the_next(runs):
    """The batch whose step was not taken is loaded again; none is lost or repeated."""
    whole = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded())
    parts = [runs.train(run, until=3)]
    assert len(run.loader) == 16
    next(iter(run.loader))
    parts += [runs.train(run, until=7), runs.train(run)]
    assert same([[one for part in parts for one in part[i]] for i in (0, 1)], whole)


@pytest.mark.parametrize(
    "changes",
    [
        {"noise_multiplier": 1.0},
        {"max_grad_norm": 1.0},
        {"clipping": "ghost"},
        {"plan": "steps"},
        {"plan": "bands"},
        {"plan": "rate"},
    ],
)
def test_a_state_of_another_run_is_refused(runs, changes):
    """What differs is named, and nothing was changed."""
    plans = {
        "steps": runs.banded(17),
        "bands": runs.banded(bands=5),
        "rate": runs.banded(sampling=hs.Poisson(rate=0.2)),
    }
    state = runs.private(runs.banded()).state_dict()
    plan = plans[changes.pop("plan")] if "plan" in changes else runs.banded()
    other = runs.private(plan, **changes)
    with pytest.raises(PlanMismatch, match="The saved run had another"):
        other.load_state_dict(state)
    assert other.taken_steps == 0


def test_states_that_would_repeat_noise_are_refused(runs):
    """An older state of a run that went on, and a state without noise in it."""
    run = runs.private(runs.banded())
    runs.train(run, until=2)
    early = run.state_dict()
    runs.train(run, until=4)
    with pytest.raises(PlanMismatch, match="used twice"):
        run.load_state_dict(early)
    ordinary = torch.optim.SGD(runs.linear_model().parameters(), lr=1.0).state_dict()
    with pytest.raises(PlanMismatch, match="no noise"):
        run.optimizer.load_state_dict(ordinary)
    with pytest.raises(PlanMismatch, match="not saved by a private run"):
        run.load_state_dict(ordinary)
    mixed = {**early["optimizer"], "hockeystick": dict(early["optimizer"]["hockeystick"])}
    mixed["hockeystick"]["taken"] = 9
    with pytest.raises(PlanMismatch, match="not of the same step"):
        run.optimizer.load_state_dict(mixed)
    assert run.taken_steps == 4


def test_a_pass_under_way_ends_when_a_state_is_restored(runs):
    """Its batches are not those that follow the state."""
    ahead = runs.private(runs.banded())
    runs.train(ahead, until=3)
    run = runs.private(runs.banded())
    batches = iter(run.loader)
    next(batches)
    run.load_state_dict(ahead.state_dict())
    with pytest.raises(PlanMismatch, match="restored"):
        next(batches)
