"""Gradients and updates that are not the run's are noticed, or find nothing to use."""

from __future__ import annotations

import pytest
import torch

from hockeystick.errors import InvalidParameter, PlanMismatch

pytestmark = [
    pytest.mark.filterwarnings("ignore:Full backward hook"),
    pytest.mark.parametrize("clipping", ["per-sample", "ghost"]),
]


def batches(runs, clipping):
    """A run and its batches, with the loss of the batch that is out."""
    run = runs.private(runs.banded(), clipping=clipping)
    criterion = run.loss(runs.LinearLoss())
    return run, iter(run.loader), lambda points: criterion(run.model(points))


def test_clipped_sums_are_not_left_on_the_parameters(runs, clipping):
    """Another optimizer, or an update by hand, finds no gradient."""
    run, loader, loss = batches(runs, clipping)
    points, _ = next(loader)
    loss(points).backward()
    assert all(p.grad is None for p in run.model.parameters())
    assert all(p.grad_sample is None for p in run.model.parameters())
    before = runs.weights(run)
    torch.optim.SGD(run.model.parameters(), lr=1.0).step()
    assert torch.equal(runs.weights(run), before)
    run.optimizer.step()
    assert run.taken_steps == 1


def test_a_second_optimizer(runs, clipping):
    """It repeats the run's update with the noisy gradient: the parameters are not the run's."""
    run, loader, loss = batches(runs, clipping)
    other = torch.optim.SGD(run.model.parameters(), lr=1.0)
    loss(next(loader)[0]).backward()
    run.optimizer.step()
    other.step()
    with pytest.raises(PlanMismatch, match="weight was changed by something else"):
        loss(next(loader)[0]).backward()


def test_an_update_by_hand(runs, clipping):
    """Before the run's step, after its backward pass."""
    run, loader, loss = batches(runs, clipping)
    loss(next(loader)[0]).backward()
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.sub_(0.1)
    with pytest.raises(PlanMismatch, match="was changed by something else"):
        run.optimizer.step()
    assert run.taken_steps == 0


def test_a_projection_after_the_update(runs, clipping):
    """What the optimizer's own hook does belongs to the step."""
    run, loader, loss = batches(runs, clipping)

    def clamp(*_):
        with torch.no_grad():
            for parameter in run.model.parameters():
                parameter.clamp_(-0.5, 0.5)

    run.optimizer._original.register_step_post_hook(clamp)
    for _ in range(2):
        loss(next(loader)[0]).backward()
        run.optimizer.step()
    assert run.taken_steps == 2
    assert float(runs.weights(run).abs().max()) <= 0.5


def test_gradients_that_were_added(runs, clipping):
    """Raw ones beside the clipped sum, before and after the run's backward pass."""
    run, loader, loss = batches(runs, clipping)
    points, _ = next(loader)
    loss(points).backward()
    for parameter in run.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    with pytest.raises(PlanMismatch, match="does not come from"):
        run.optimizer.step()
    run.optimizer.zero_grad()
    run.optimizer.step()
    # The noisy gradient of the last step may stay there, but not be added to.
    points, _ = next(loader)
    for parameter in run.model.parameters():
        parameter.grad.add_(1.0)
    with pytest.raises(PlanMismatch, match="does not come from"):
        loss(points).backward()


def test_a_loss_that_is_not_the_run_s(runs, clipping):
    """An ordinary backward pass leaves gradients that are not clipped."""
    run, loader, _ = batches(runs, clipping)
    points, _ = next(loader)
    runs.LinearLoss()(run.model(points)).backward()
    with pytest.raises(PlanMismatch, match=r"run\.loss"):
        run.optimizer.step()
    run.optimizer.zero_grad()
    with pytest.raises(PlanMismatch, match=r"criterion = run\.loss"):
        run.optimizer.step()
    assert run.taken_steps == 0


def test_a_second_backward_pass(runs, clipping):
    """An example would count twice; losses can be added instead."""
    _, loader, loss = batches(runs, clipping)
    one = loss(next(loader)[0])
    one.backward()
    with pytest.raises(PlanMismatch, match="second backward pass"):
        one.backward()


def test_losses_are_only_scaled_by_numbers(runs, clipping):
    """A tensor, or a term that belongs to no example, may depend on all of them."""
    _, loader, loss = batches(runs, clipping)
    one = loss(next(loader)[0])
    for factor in (torch.tensor(2.0), "2", True):
        with pytest.raises(InvalidParameter, match="multiplied by a number"):
            one * factor
    with pytest.raises(InvalidParameter, match="weight decay"):
        one + torch.tensor(1.0)
    with pytest.raises(InvalidParameter, match="divided"):
        one / 0


def test_another_call_of_the_model(runs, clipping):
    """One that is not used is refused or changes nothing; without gradients it is allowed."""
    run, loader, loss = batches(runs, clipping)
    points, _ = next(loader)
    with torch.no_grad():
        run.model(points)
    loss(points).backward()
    run.optimizer.step()
    other = runs.private(runs.banded(), clipping=clipping)
    runs.train(other, until=1)
    assert torch.equal(runs.weights(run), runs.weights(other))
    points, _ = next(loader)
    run.model(points)
    if clipping == "per-sample":
        with pytest.raises(PlanMismatch, match="once"):
            loss(points).backward()
    else:
        loss(points).backward()
        run.optimizer.step()
        runs.train(other, until=2)
        assert torch.equal(runs.weights(run), runs.weights(other))


def test_the_loss_of_an_earlier_batch(runs, clipping):
    """It belongs to that batch, whatever its size."""
    run, loader, loss = batches(runs, clipping)
    old = loss(next(loader)[0])
    old.backward()
    run.optimizer.step()
    new = loss(next(loader)[0])
    with pytest.raises(InvalidParameter, match="same batch"):
        old + new
    with pytest.raises(PlanMismatch, match="of an earlier batch"):
        old.backward()
    new.backward()
    run.optimizer.step()
    assert run.taken_steps == 2
