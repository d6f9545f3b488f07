"""Empty batches, for which the model is not called, and losses of tensors outside the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import PlanMismatch
from hockeystick.torch import TorchNoiseStream
from in_one_test import in_one_test

RARE = hs.Poisson(rate=0.01)


class NeverEmpty(nn.Module):
    """Crashes on an empty batch, as attention does; called with keywords."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layer = nn.Linear(inputs, outputs, bias=False)

    def forward(self, *, points):
        """The layer's output."""
        assert len(points)
        return {"logits": self.layer(points)}


class Named(torch.utils.data.Dataset):
    """Examples as dictionaries."""

    def __init__(self, points, numbers) -> None:
        self.points, self.numbers = points, numbers

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, i):
        return {"points": self.points[i], "labels": self.numbers[i]}


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_the_model_never_sees_one(runs, clipping):
    """Dictionaries, keywords and a scheduler; every step of the plan is taken."""
    torch.manual_seed(5)
    model = NeverEmpty(runs.INPUTS, runs.OUTPUTS)
    plan = runs.banded(sampling=RARE)
    run = runs.private(
        plan, model=model, dataset=Named(*runs.data().tensors), clipping=clipping, rng=1, lr=0.1
    )
    scheduler = torch.optim.lr_scheduler.StepLR(run.optimizer, step_size=1, gamma=0.5)
    criterion, seen = run.loss(nn.CrossEntropyLoss()), []
    for batch in run.loader:
        run.optimizer.zero_grad()
        labels = batch.pop("labels")
        criterion(run.model(**batch)["logits"], labels).backward()
        run.optimizer.step()
        scheduler.step()
        seen.append(labels.tolist())
    wanted = list(
        plan.batches(examples=runs.EXAMPLES, rng=np.random.SeedSequence(1, spawn_key=(0,)))
    )
    assert any(not batch.size for batch in wanted)
    assert seen == [batch.tolist() for batch in wanted]
    assert run.taken_steps == plan.steps
    # The schedule counts steps of the plan, whoever is in the data.
    assert run.optimizer.param_groups[0]["lr"] == 0.1 * 0.5**plan.steps
    assert run.finished


@pytest.mark.parametrize("most", [None, 1])
def test_its_noise_is_that_of_the_step(runs, most):
    """One row of C^-1 Z for each step in its order, nothing else, and once each.

    With and without an example in the data: what one more example changes is its own gradient.
    """
    plan = runs.banded(sampling=RARE)
    run = runs.private(plan, rng=1, physical_batch_size=most)
    start, size = runs.weights(run), run.expected_batch_size
    batches, _ = runs.train(run)
    stream = TorchNoiseStream(
        plan,
        list(run.model.parameters()),
        noise_multiplier=runs.NOISE,
        max_grad_norm=runs.CLIP,
        rng=np.random.SeedSequence(1, spawn_key=(1,)),
    )
    noise = torch.stack([torch.cat([part.flatten() for part in row]) for row in stream])
    assert len(noise) == plan.steps == run.taken_steps
    points = runs.data().tensors[0][[number for batch in batches for number in batch]]
    total = noise.double().sum(0) + runs.clipped_sum(points).double()
    assert torch.allclose(runs.weights(run).double(), start.double() - total / size, atol=1e-4)


def test_only_empty_batches(runs):
    """The loop goes on as usual, metrics included."""
    run = runs.private(runs.independent(steps=4, rate=1e-9), epochs=2)
    before, criterion = runs.weights(run), run.loss(nn.CrossEntropyLoss())
    for taken in (2, 4):
        for points, labels in run.loader:
            output = run.model(points)
            loss = 0.5 * criterion(output.squeeze(-1), labels)
            correct = (output.argmax(dim=1) == labels).float().mean().item()
            assert (len(points), loss.item(), correct, f"{loss:.1f}") == (0, 0.0, 0.0, "0.0")
            assert float(torch.softmax(output, dim=-1).max()) == 0.0
            loss.backward()
            run.optimizer.step()
        assert run.taken_steps == taken
    assert run.finished
    assert not torch.equal(runs.weights(run), before)


def test_a_filter_is_charged_for_it(runs):
    """Each step of noise needs a permit, and the pass ends where there is none."""
    filter_ = hs.filters.Gaussian(mu=1.0)
    plan = hs.Plan(sampling=hs.Poisson(rate=1e-9), steps=50)
    run = runs.private(plan, filter=filter_)
    for _ in run.loader:
        run.optimizer.step()  # needs no backward pass
    assert run.stopped_by == "filter"
    assert run.taken_steps == len(filter_.history) < plan.steps
    assert filter_.remaining == pytest.approx(0.0, abs=1e-9)


def test_a_schedule_in_the_loop_is_refused_with_physical_batches(runs):
    """The number of parts tells how large batches were; between passes rates may change."""
    run = runs.private(runs.independent(steps=6, rate=0.2), physical_batch_size=2, epochs=2, lr=1.0)
    group, criterion = run.optimizer.param_groups[0], run.loss(nn.CrossEntropyLoss())

    def one_pass(gamma: float) -> None:
        for points, labels in run.loader:
            criterion(run.model(points), labels).backward()
            run.optimizer.step()
            group["lr"] *= gamma

    one_pass(1.0)
    group["lr"] = 0.5
    with pytest.raises(PlanMismatch, match="register_step_post_hook"):
        one_pass(0.9)


@pytest.mark.parametrize("most", [None, 1])
def test_learning_rates_follow_the_steps_of_the_plan(runs, most):
    """A hook after each update: the rates are the same whichever batches were empty or large."""
    plan = runs.banded(sampling=RARE)
    run = runs.private(plan, rng=1, lr=1.0, physical_batch_size=most)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(run.optimizer, gamma=0.5)
    used = []
    run.optimizer.register_step_post_hook(lambda own, *_: used.append(own.param_groups[0]["lr"]))
    run.optimizer.register_step_post_hook(lambda *_: scheduler.step())
    runs.train(run)
    assert used == [0.5**step for step in range(plan.steps)]


@in_one_test
@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("most", [None, 1])
@pytest.mark.parametrize("parameter", [True, False])
def test_gradients_of_other_leaves_are_refused(clipping, most, parameter):
    """In every step, also where no probe runs; the leaf gets no gradient."""
    data = TensorDataset(torch.randn(12, 3), torch.randint(2, (12,)))
    model = nn.Linear(3, 2)
    run = hs.torch.make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        data,
        hs.Plan(sampling=hs.FullBatch(), steps=3),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        clipping=clipping,
        physical_batch_size=most,
    )
    criterion = run.loss(nn.CrossEntropyLoss())
    other = torch.ones(2, requires_grad=True)
    leaf = nn.Parameter(other.detach()) if parameter else other
    for points, labels in run.loader:
        run.optimizer.zero_grad()
        outputs = run.model(points)
        if run.taken_steps == 1:
            with pytest.raises(PlanMismatch, match="not a parameter of the model"):
                criterion(outputs * leaf, labels).backward()
            break
        criterion(outputs, labels).backward()
        run.optimizer.step()
    assert run.taken_steps == 1
    assert leaf.grad is None
