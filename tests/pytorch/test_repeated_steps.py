"""A killed run that was restored: repeated steps release the same, and are charged once."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from torch import nn

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch import repeated_steps
from hockeystick.torch.layouts import WholeLayout
from hockeystick.torch.progress import RunSettings
from hockeystick.torch.repeated_steps import BLOCK, PARTS, ReleaseWitness
from hockeystick.training.schedules import StepSettings

SAVED, KILLED = 3, 6
PLAN = hs.Plan(sampling=hs.Poisson(rate=0.3), steps=10)


class Squares(nn.Module):
    """Gradients depend on the weights."""

    reduction = "none"

    def forward(self, outputs, power=2.0):
        """One loss for each example."""
        return outputs.abs().pow(power).sum(dim=1)


def train(run, until, power=2.0):
    """The loop; the power stands for code that was changed."""
    criterion = run.loss(Squares())
    for points, _ in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(points), power).backward()
        run.optimizer.step()
        if run.taken_steps == until:
            return


def begun(runs, ledger, **options):
    """A run with a filter that has a ledger."""
    budget = hs.filters.Renyi(epsilon=6.0, delta=1e-5, order=8.0, ledger=ledger, name="run")
    return runs.private(PLAN, filter=budget, **{"lr": 0.01, **options}), budget


def killed(runs, ledger, until=KILLED, **options):
    """The state after some steps; more steps were taken since."""
    run, _ = begun(runs, ledger, **options)
    train(run, SAVED)
    state = copy.deepcopy(run.state_dict())
    if until > SAVED:
        train(run, until)
    return state


def noted(state):
    """What the entry of the next step would have."""
    ours = state["optimizer"]["hockeystick"]
    return {"run": ours["run"]["id"], "step": SAVED, "lineage": ours["budget"]["before"][1]}


def compared(history):
    """What has to be the same: everything but the number of the run."""
    found = []
    for entry in history:
        note = {name: v for name, v in entry.request["note"].items() if name != "run"}
        found.append((entry.number, entry.charge, entry.status, {**entry.request, "note": note}))
    return found


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_the_ledger_is_that_of_an_uninterrupted_run(runs, tmp_path, arithmetic):
    """Weights, ledger entry by entry, statement; also with another size of physical batches."""
    settings = {"arithmetic": arithmetic, "physical_batch_size": 1}
    whole, spending = begun(runs, tmp_path / "whole.db", **settings)
    train(whole, None)
    if arithmetic == "float":
        settings["physical_batch_size"] = None
    state = killed(runs, tmp_path / "killed.db", **settings)
    run, budget = begun(runs, tmp_path / "killed.db", rng=99, **settings)
    run.load_state_dict(state)
    train(run, None)
    assert torch.allclose(runs.weights(run), runs.weights(whole), atol=1e-5)
    mine, theirs = compared(budget.history), compared(spending.history)
    for one, other in zip(mine, theirs, strict=True):
        before = one[3]["note"].pop("before", [0]), other[3]["note"].pop("before", [0])
        assert len(before[0]) == (1 if one[0] == 1 else 3 if arithmetic == "exact" else 2)
        # In floating point the weights are those of the run.
        assert arithmetic == "float" or before[0] == before[1]
        assert one == other
    assert budget.spent == spending.spent
    names = ("epsilon", "delta", "kind", "taken_steps", "planned_steps")
    mine, theirs = run.statement(delta=1e-5), whole.statement(delta=1e-5)
    for name in set(names) & set(vars(mine)):
        assert getattr(mine, name) == getattr(theirs, name)
    # Each ledger numbers its budget itself.
    numbers = mine.filter.pop("budget_id"), theirs.filter.pop("budget_id")
    assert numbers[0] != numbers[1]
    assert mine.filter == theirs.filter


@pytest.mark.parametrize("what", ["loss", "learning rate", "data"])
def test_other_gradients_end_the_run(runs, tmp_path, what):
    """With the same noise their difference would be bare: nothing is updated, nothing charged."""
    state = killed(runs, tmp_path / "ledger.db")
    changes = {}
    if what == "data":
        changes["dataset"] = torch.utils.data.TensorDataset(
            0.01 + runs.data().tensors[0], torch.arange(runs.EXAMPLES)
        )
    run, budget = begun(runs, tmp_path / "ledger.db", **changes)
    run.load_state_dict(state)
    if what == "learning rate":
        run.optimizer.param_groups[0]["lr"] = 0.05
    spent = budget.spent
    with pytest.raises(PlanMismatch, match="was taken before, with the same noise and with other"):
        train(run, None, power=1.9 if what == "loss" else 2.0)
    # With another learning rate the first repeated step has the gradients that it had.
    first = SAVED + (what == "learning rate")
    assert (run.taken_steps, run.stopped_by) == (first + 1, "close")
    if what != "learning rate":
        assert torch.equal(runs.weights(run), state["model"]["_module.weight"].flatten())
    assert budget.spent == spent
    with pytest.raises(PlanMismatch, match="was closed"):
        next(iter(run.loader))


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_a_run_that_goes_on_in_two_places(runs, tmp_path, arithmetic):
    """Two runs from one state: whoever comes second with other data is refused, not charged."""
    ledger = tmp_path / "ledger.db"
    first, _ = begun(runs, ledger, arithmetic=arithmetic)
    train(first, SAVED)
    state = copy.deepcopy(first.state_dict())
    other = torch.utils.data.TensorDataset(
        0.01 + runs.data().tensors[0], torch.arange(runs.EXAMPLES)
    )
    second, budget = begun(runs, ledger, arithmetic=arithmetic, dataset=other)
    second.load_state_dict(state)
    train(first, KILLED)
    spent = budget.spent
    with pytest.raises(PlanMismatch, match="was taken before, with the same noise and with other"):
        train(second, None)
    assert budget.spent == spent


def test_exact_arithmetic_compares_to_the_last_bit(runs, tmp_path):
    """One gradient that is rounded to another point of the lattice is another release."""
    state = killed(runs, tmp_path / "ledger.db", arithmetic="exact")
    points, numbers = runs.data().tensors
    moved = torch.utils.data.TensorDataset(points * (1 + 2e-6), numbers)
    run, _ = begun(runs, tmp_path / "ledger.db", arithmetic="exact", dataset=moved)
    run.load_state_dict(state)
    with pytest.raises(PlanMismatch, match="with other gradients"):
        train(run, None)


def test_a_step_that_was_reserved_only(runs, tmp_path):
    """Its noise was never drawn: it has its entry already, and nothing to compare with."""
    run, budget = begun(runs, tmp_path / "ledger.db")
    train(run, SAVED)
    state = copy.deepcopy(run.state_dict())
    next(iter(run.loader))
    assert [entry.status for entry in budget.history][-1] == "reserved"
    other, again = begun(runs, tmp_path / "ledger.db")
    other.load_state_dict(state)
    train(other, SAVED + 1, power=1.5)
    assert [entry.status for entry in again.history] == ["committed"] * (SAVED + 1)


def test_the_last_step_before_a_save_is_noted_too(runs, tmp_path):
    """Of a run that was killed right after it; an older state is compared in all steps then."""
    run, _ = begun(runs, tmp_path / "ledger.db")
    train(run, 1)
    older = copy.deepcopy(run.state_dict())
    train(run, SAVED)
    state = copy.deepcopy(run.state_dict())
    run, budget = begun(runs, tmp_path / "ledger.db")
    run.load_state_dict(state)
    train(run, SAVED + 1)
    assert all("before" in entry.request["note"] for entry in budget.history[1:])
    run, _ = begun(runs, tmp_path / "ledger.db")
    run.load_state_dict(older)
    train(run, SAVED + 2)
    assert len(budget.history) == SAVED + 2


def test_another_run_is_charged(runs, tmp_path):
    """The same seed, the same steps, but another number: noise may be another."""
    killed(runs, tmp_path / "ledger.db")
    run, budget = begun(runs, tmp_path / "ledger.db")
    train(run, 2)
    assert len(budget.history) == KILLED + 2


def test_a_restored_run_does_not_take_permits_of_others(runs, tmp_path):
    """Entries of other runs, cancelled ones and those without a note are not the run's."""
    state = killed(runs, tmp_path / "ledger.db", until=SAVED)
    _, budget = begun(runs, tmp_path / "ledger.db")
    own = noted(state)
    asked = {"rate": 0.3, "noise_multiplier": runs.NOISE}
    budget.request(**asked, note={**own, "run": "0" * 32})
    budget.request(**asked, note={**own, "lineage": "0" * 16})
    budget.request(**asked, note=own).cancel()
    budget.request(**asked)
    run, after = begun(runs, tmp_path / "ledger.db")
    run.load_state_dict(state)
    count = len(after.history)
    train(run, SAVED + 1)
    assert len(after.history) == count + 1


def test_an_entry_with_other_noise_is_refused(runs, tmp_path):
    """Who writes the note of this run with another rate has not reserved this step."""
    state = killed(runs, tmp_path / "ledger.db", until=SAVED)
    run, budget = begun(runs, tmp_path / "ledger.db")
    budget.request(rate=0.1, noise_multiplier=runs.NOISE, note=noted(state))
    run.load_state_dict(state)
    with pytest.raises(PlanMismatch, match="another rate or noise for step 4"):
        train(run, None)


def test_settings_that_were_changed_again(runs, tmp_path):
    """The same change has the same noise, and is charged once; another one is another step."""
    state = killed(runs, tmp_path / "ledger.db", until=SAVED)
    for noise, entries in ((2.0, 2), (2.0, 2), (2.5, 4)):
        run, budget = begun(runs, tmp_path / "ledger.db")
        run.load_state_dict(copy.deepcopy(state))
        run.set(noise_multiplier=noise)
        train(run, SAVED + 2)
        assert len(budget.history) == SAVED + entries


def test_only_gaussian_entries_are_repeated():
    """A cancelled one was given back; a profile has no clip norm."""
    budget = hs.filters.Gaussian(mu=1.0)
    budget.request(noise_multiplier=4.0).cancel()
    with pytest.raises(InvalidParameter, match="entry must be one of Gaussian steps"):
        budget.repeated(budget.history[0])
    with pytest.raises(InvalidParameter, match="note must be"):
        budget.request(noise_multiplier=4.0, note="text")
    budget.request(noise_multiplier=4.0, note={"why": "a test"}).commit()
    before = budget.spent
    permit = budget.repeated(budget.history[1])
    permit.commit()
    assert (budget.spent, permit.number, permit.noise_multiplier) == (before, 2, 4.0)


def witness(noise=1.0, clip=1.0, *, layout, dimension, **settings):
    """Of a run with these settings."""
    return ReleaseWitness(
        RunSettings(
            plan=PLAN,
            noise_multiplier=noise,
            max_grad_norm=clip,
            expected_batch_size=1.0,
            examples=1,
            clipping="ghost",
            seeded=True,
            **settings,
        ),
        layout,
        [torch.empty(dimension)],
    )


@pytest.mark.parametrize("small", [0, repeated_steps.SMALL])
@pytest.mark.parametrize("size", [1, 5, BLOCK - 1, BLOCK, 3 * BLOCK + 17])
def test_witnesses_do_not_depend_on_who_holds_what(size, small, monkeypatch):
    """The weights belong to coordinates; differences show, and are as large as they should be."""
    monkeypatch.setattr(repeated_steps, "SMALL", small)
    source = torch.Generator().manual_seed(size)
    values = 100 * torch.randn(size, generator=source, dtype=torch.float64)
    cuts = sorted({0, size, *(int(c) for c in torch.randint(size + 1, (4,), generator=source))})
    ranges = list(itertools.pairwise(cuts))
    whole = repeated_steps._projection([values], [(0, size)], seed=7)
    parts = sum(repeated_steps._projection([values[a:b]], [(a, b)], seed=7) for a, b in ranges)
    together = repeated_steps._projection([values[a:b] for a, b in ranges], ranges, seed=7)
    some = [(a, b) for a, b in ranges if a != cuts[1]]
    gaps = repeated_steps._projection([values[a:b] for a, b in some], some, seed=7)
    alone = sum(repeated_steps._projection([values[a:b]], [(a, b)], seed=7) for a, b in some)
    assert float(gaps) == pytest.approx(float(alone), rel=1e-9)
    assert float(parts) == pytest.approx(float(whole), rel=1e-9)
    assert float(together) == pytest.approx(float(whole), rel=1e-9)
    other = repeated_steps._projection([values], [(0, size)], seed=8)
    assert float(other) != pytest.approx(float(whole), rel=1e-6)


def test_how_large_a_difference_is_noticed():
    """At 1,000 times what may differ all but one in 100 directions; below a tenth none."""
    size = 1000
    layout = WholeLayout([torch.empty(size)])
    judge = witness(layout=layout, dimension=size)
    source = torch.Generator().manual_seed(1)
    values = torch.randn(size, generator=source, dtype=torch.float64)
    now = StepSettings(1.0, 1.0, 0.3)
    may_differ = judge.unit(now) * PARTS
    assert may_differ == pytest.approx(1e-4, rel=0.1)
    noticed = {0.1: 0, 1000.0: 0}
    for times in noticed:
        for step in range(100):
            direction = torch.randn(size, generator=source, dtype=torch.float64)
            moved = values + times * may_differ * direction / direction.norm()
            first, second = (judge.of([v], now, run="a", step=step) for v in (values, moved))
            noticed[times] += not judge.same(first, second)
    assert noticed[0.1] == 0
    assert noticed[1000.0] >= 97
    assert judge.of([values * float("nan")], now, run="a", step=0) == (0, 0)
    assert not judge.same((0, 0), (0,))
    # The clip norm of the step counts, not that of the start.
    assert judge.unit(StepSettings(1.0, 1e-5, 0.3)) == pytest.approx(1e-5 * judge.unit(now))
