"""A second run on the same model, and runs that are closed."""

from __future__ import annotations

import copy
from contextlib import nullcontext

import pytest
import torch
from opacus.grad_sample import GradSampleModule
from torch import nn

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch import make_private

pytestmark = pytest.mark.slow


def second(runs, model, optimizer, **options):
    """A run with more noise on what an earlier run had."""
    options = {"noise_multiplier": 3.0, "max_grad_norm": runs.CLIP, "rng": 4, **options}
    return make_private(model, optimizer, runs.data(), runs.banded(), **options)


def own_hooks(module) -> int:
    """How many hooks are on the module's layers."""
    return sum(
        len(part._forward_hooks) + len(part._forward_pre_hooks) + len(part._backward_hooks)
        for part in module.modules()
    )


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("end", ["finished", "closed"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_noise_is_raised_on_the_same_model(runs, clipping, end, wrapped):
    """Original or wrapped; the updates are those of a fresh run from the same weights."""
    model = nn.Sequential(nn.Flatten(), runs.linear_model(), nn.Dropout(0.0))
    plain = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)
    first = make_private(
        model,
        plain,
        runs.data(),
        runs.banded(),
        noise_multiplier=runs.NOISE,
        max_grad_norm=runs.CLIP,
        clipping=clipping,
        rng=3,
    )
    runs.train(first, until=None if end == "finished" else 5)
    if end == "closed":
        first.close()
    assert own_hooks(model) == 0
    assert first.stopped_by == ("plan" if end == "finished" else "close")
    twin = copy.deepcopy(model)
    theirs = torch.optim.SGD(twin.parameters(), lr=1.0, momentum=0.5)
    theirs.load_state_dict(copy.deepcopy(plain.state_dict()))
    given = (first.model, first.optimizer) if wrapped else (model, plain)
    again = second(runs, *given, clipping=clipping)
    fresh = second(runs, twin, theirs, clipping=clipping)
    assert runs.train(again)[0] == runs.train(fresh)[0]
    assert torch.equal(runs.weights(again), runs.weights(fresh))
    assert first.record().taken_steps == (16 if end == "finished" else 5)
    assert first.statement(delta=1e-5, method="gaussian").noise_multiplier == runs.NOISE
    assert again.record().noise_multiplier == 3.0


def test_an_unfinished_run_has_its_model_and_optimizer(runs):
    """One sentence with the way out; also for a part of the model and for a larger model."""
    model = nn.Sequential(runs.linear_model(), nn.Identity())
    run = runs.private(runs.banded(), model=model)
    runs.train(run, until=2)
    fresh = torch.optim.SGD(model.parameters(), lr=1.0)
    for taken in (model, run.model, model[0], nn.Sequential(model)):
        with pytest.raises(InvalidParameter, match=r"end it by run\.close\(\)"):
            second(runs, taken, fresh)
    with pytest.raises(InvalidParameter, match=r"optimizer must be .* run\.close\(\)"):
        second(runs, runs.linear_model(), run.optimizer)
    runs.train(run, until=3)
    assert run.taken_steps == 3


def test_a_closed_run_takes_no_step(runs):
    """Nor does the batch that is out; nothing is changed, and it cannot be restored into."""
    run = runs.private(runs.banded(), epochs=4)
    runs.train(run)
    points, _ = next(batches := iter(run.loader))
    loss = run.loss(runs.LinearLoss())(run.model(points))
    loss.backward()
    before, state = runs.weights(run), run.state_dict()
    run.close()
    run.close()
    for use in (
        run.optimizer.step,
        loss.backward,
        lambda: next(batches),
        lambda: iter(run.loader),
        lambda: run.loss(runs.LinearLoss())(run.model(points)),
        lambda: run.load_state_dict(state),
    ):
        with pytest.raises(PlanMismatch, match=r"closed|Another pass"):
            use()
    assert list(run.epochs()) == []
    assert (run.taken_steps, run.finished, run.stopped_by) == (4, True, "close")
    assert torch.equal(runs.weights(run), before)
    assert run.statement(delta=1e-5).taken_steps == 4


def test_the_model_is_ordinary_afterwards(runs):
    """It can be copied, called, and trained by anything; the earlier run notices nothing."""
    run = runs.private(runs.banded())
    runs.train(run)
    model = run.model._module
    assert copy.deepcopy(model)(torch.zeros(2, runs.INPUTS)).shape == (2, runs.OUTPUTS)
    assert not any(hasattr(p, "_forward_counter") for p in model.parameters())
    plain = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.ones(2, runs.INPUTS)).sum().backward()
    plain.step()
    run.optimizer.original.step()


def test_closing_the_first_does_not_touch_the_second(runs):
    """Hooks are those of the run that has the model."""
    model = runs.linear_model()
    first = runs.private(runs.banded(), model=model)
    runs.train(first)
    other = second(runs, model, torch.optim.SGD(model.parameters(), lr=1.0))
    runs.train(other, until=2)
    first.close()
    with pytest.raises(InvalidParameter, match=r"run\.close"):
        first.probe()
    runs.train(other)
    assert other.taken_steps == 16


def test_a_run_that_nobody_holds_is_gone(runs):
    """A cell of a notebook that is run again after `del run`, with a scheduler."""
    model = runs.linear_model()
    run = runs.private(runs.banded(), model=model)
    scheduler = torch.optim.lr_scheduler.StepLR(run.optimizer, step_size=4)
    runs.train(run, until=2)
    del run, scheduler
    assert runs.train(runs.private(runs.banded(), model=model))[0]


def test_a_filter_is_not_bypassed_by_closing(runs):
    """What the first run reserved or spent is gone, whatever the second is called."""
    filter_ = hs.filters.Gaussian(mu=2.0)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=40)
    model, taken = runs.linear_model(), 0
    for steps in (4, 3, 40):
        run = runs.private(plan, model=model, filter=filter_)
        nothing = pytest.warns(UserWarning, match="permits no step")
        with nothing if steps == 40 else nullcontext():
            runs.train(run, until=steps)
        if not run.finished:
            next(iter(run.loader))  # reserved, and then closed
        run.close()
        taken += run.taken_steps
    assert run.stopped_by == "filter"
    # Nine steps fit, as in one run; two of them were reserved and never taken.
    assert taken + 2 == 9 == len(filter_.history)


def test_a_failed_call_leaves_the_model_free(runs):
    """A collate function that fails, then the call again without it."""
    model = runs.linear_model()

    def broken(_):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        runs.private(runs.banded(), model=model, loader_options={"collate_fn": broken})
    assert own_hooks(model) == 0
    assert runs.train(runs.private(runs.banded(), model=model), until=1)[0]


def test_hooks_of_opacus_itself(runs):
    """Named, with the way out."""
    model = runs.linear_model()
    wrapped = GradSampleModule(model)
    for given in (model, wrapped):
        with pytest.raises(InvalidParameter, match="to_standard_module"):
            second(runs, given, torch.optim.SGD(model.parameters(), lr=1.0))
    assert second(runs, wrapped.to_standard_module(), torch.optim.SGD(model.parameters(), lr=1.0))
