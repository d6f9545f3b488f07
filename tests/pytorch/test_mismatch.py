"""Nothing but the accounted plan can be run through the public interface."""

from __future__ import annotations

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch, UnsupportedPlan
from hockeystick.torch import make_private


def backward(runs, run, points) -> None:
    """The gradients of these points, with the run's own criterion."""
    run.loss(runs.LinearLoss())(run.model(points)).backward()


def test_batches_of_a_shuffled_loader(runs):
    """The optimizer knows that its gradients are not of a batch of the plan."""
    run = runs.private(runs.banded())
    before = runs.weights(run)
    for points, _ in DataLoader(runs.data(), batch_size=6, shuffle=True):
        with pytest.raises(PlanMismatch, match="do not come from a batch of the run's loader"):
            backward(runs, run, points)
        with pytest.raises(PlanMismatch, match="do not come from a batch of the run's loader"):
            run.optimizer.step()
        break
    assert torch.equal(runs.weights(run), before)
    assert run.taken_steps == 0


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_a_batch_of_another_size(runs, clipping):
    """More examples than the plan drew, in a step of its own batch."""
    run = runs.private(runs.banded(), clipping=clipping)
    points, _ = next(iter(run.loader))

    def step_with_more():
        """The batch twice over."""
        backward(runs, run, torch.cat([points, points]))
        run.optimizer.step()

    with pytest.raises((PlanMismatch, InvalidParameter), match=r"of \d+ examples|each of the"):
        step_with_more()
    assert run.taken_steps == 0


def test_a_loader_in_place_of_the_data_set(runs):
    """Whose batches and order would be its own."""
    shuffled = DataLoader(runs.data(), batch_size=8, shuffle=True)
    with pytest.raises(PlanMismatch, match="not a loader"):
        runs.private(runs.banded(), dataset=shuffled)


@pytest.mark.parametrize(
    "option", ["shuffle", "batch_size", "sampler", "batch_sampler", "drop_last", "in_order"]
)
def test_options_that_would_decide_the_batches(runs, option):
    """They are the plan's."""
    with pytest.raises(PlanMismatch, match=option):
        runs.private(runs.banded(), loader_options={option: True})


def test_more_steps_than_planned(runs):
    """Neither by another pass over the loader nor by another step."""
    run = runs.private(runs.banded())
    batches, _ = runs.train(run)
    assert len(batches) == run.taken_steps == 16
    assert run.finished
    assert run.stopped_by == "plan"
    with pytest.raises(PlanMismatch, match="All 16 steps"):
        iter(run.loader)
    with pytest.raises(PlanMismatch, match="All 16 steps"):
        backward(runs, run, runs.data().tensors[0])
    with pytest.raises(PlanMismatch, match="All 16 steps"):
        run.optimizer.step()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise_multiplier", 0.1),
        ("max_grad_norm", 10.0),
        ("expected_batch_size", 1.0),
    ],
)
def test_settings_do_not_change_in_the_middle(runs, name, value):
    """Opacus' schedulers would set them like this."""
    run = runs.private(runs.banded())
    runs.train(run, until=2)
    before = getattr(run.optimizer, name)
    with pytest.raises(PlanMismatch, match=f"{name} cannot change"):
        setattr(run.optimizer, name, value)
    assert getattr(run.optimizer, name) == before


def test_the_original_optimizer_may_not_step(runs):
    """It would use gradients without noise."""
    model = runs.linear_model()
    plain = torch.optim.SGD(model.parameters(), lr=1.0)
    run = make_private(
        model, plain, runs.data(), runs.banded(), noise_multiplier=1.0, max_grad_norm=1.0
    )
    points, _ = next(iter(run.loader))
    backward(runs, run, points)
    with pytest.raises(PlanMismatch, match="belongs to the run"):
        plain.step()
    run.optimizer.step()
    assert run.taken_steps == 1


def test_another_optimizer_is_noticed_at_the_next_batch(runs):
    """A batch was loaded and the run's optimizer took no step."""
    run = runs.private(runs.banded())
    other = torch.optim.SGD(run.model.parameters(), lr=1.0)
    batches = iter(run.loader)
    points, _ = next(batches)
    backward(runs, run, points)
    other.step()
    with pytest.raises(PlanMismatch, match="did not take a step"):
        next(batches)


def test_the_optimizer_inside_cannot_be_replaced(runs):
    """Nor can its parameters change."""
    run = runs.private(runs.banded())
    other = torch.optim.SGD(run.model.parameters(), lr=1.0)
    with pytest.raises(PlanMismatch, match="original cannot change"):
        run.optimizer._original = other
    with pytest.raises(PlanMismatch, match="added"):
        run.optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(3))]})
    with pytest.raises(PlanMismatch, match="optimizer cannot change"):
        run.optimizer = other
    points, _ = next(iter(run.loader))
    backward(runs, run, points)
    run.optimizer.param_groups[0]["params"] = [nn.Parameter(torch.zeros(3))]
    with pytest.raises(PlanMismatch, match="not those with which the run began"):
        run.optimizer.step()


def test_two_steps_for_one_batch(runs):
    """The second has no batch."""
    run = runs.private(runs.banded())
    points, _ = next(iter(run.loader))
    backward(runs, run, points)
    run.optimizer.step()
    with pytest.raises(PlanMismatch, match="do not come from"):
        backward(runs, run, points)
    with pytest.raises(PlanMismatch, match="do not come from"):
        run.optimizer.step()


def test_a_step_without_a_backward_pass(runs):
    """Gradients of an earlier batch are gone, so there are none."""
    for clipping in ("per-sample", "ghost"):
        run = runs.private(runs.banded(), clipping=clipping)
        runs.train(run, until=1)
        next(iter(run.loader))
        with pytest.raises(PlanMismatch, match=r"loss\.backward"):
            run.optimizer.step()


def test_the_memory_manager_of_opacus(runs):
    """It makes a loader of its own; physical_batch_size is what to use."""
    run = runs.private(runs.banded())
    manager = BatchMemoryManager(
        data_loader=run.loader, max_physical_batch_size=2, optimizer=run.optimizer
    )
    with manager as loader, pytest.raises(PlanMismatch, match="physical_batch_size"):
        next(iter(loader))


def test_two_passes_at_once(runs):
    """Only the latest is the run's."""
    run = runs.private(runs.banded())
    first = iter(run.loader)
    next(first)
    next(iter(run.loader))
    with pytest.raises(PlanMismatch, match="Another pass"):
        next(first)


def test_data_that_grows(runs):
    """The expected batch size and the batches are for the examples of the start."""
    points = [torch.zeros(runs.INPUTS) for _ in range(20)]
    run = runs.private(runs.banded(), dataset=points)
    points.append(torch.zeros(runs.INPUTS))
    with pytest.raises(PlanMismatch, match="21 examples"):
        iter(run.loader)


def test_plans_without_an_analysis(runs):
    """Before the model is touched."""
    model = runs.linear_model()
    with pytest.raises(UnsupportedPlan):
        runs.private(hs.Plan(sampling=hs.Shuffle(batch_size=4), steps=4), model=model)
    laplace = hs.Plan(
        sampling=hs.Poisson(rate=0.1), steps=4, mechanism=hs.Profile.laplace(scale=1.0)
    )
    with pytest.raises(UnsupportedPlan):
        runs.private(laplace, model=model)
    assert not hasattr(model, "autograd_grad_sample_hooks")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise_multiplier", float("nan")),
        ("noise_multiplier", 0.0),
        ("max_grad_norm", -1.0),
        ("physical_batch_size", 0),
        ("clipping", "none"),
        ("attribution", hs.Attribution.one_user_each(40)),
        ("plan", None),
        ("rng", -1),
        ("rng", torch.Generator()),
    ],
)
def test_parameters_outside_their_range(runs, name, value):
    """One sentence that names the parameter."""
    options = {"plan": runs.banded(), name: value}
    with pytest.raises(InvalidParameter, match=name):
        runs.private(options.pop("plan"), **options)


def test_models_and_optimizers_that_cannot_be_private(runs):
    """Parameters elsewhere have no gradients here; one model is in one run."""
    with pytest.raises(InvalidParameter, match="parameters of the model"):
        make_private(
            runs.linear_model(),
            torch.optim.SGD(runs.linear_model().parameters(), lr=1.0),
            runs.data(),
            runs.banded(),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
    run = runs.private(runs.banded())
    with pytest.raises(InvalidParameter, match=r"run\.close\(\)"):
        runs.private(runs.banded(), model=run.model)
