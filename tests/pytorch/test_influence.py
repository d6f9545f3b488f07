"""Layers and buffers through which examples influence each other are refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from pytorch.probed_networks import contrastive, first_step
from pytorch.probed_networks import small_data as data
from pytorch.probed_networks import small_network as network


class Centred(nn.Module):
    """Subtracts the mean of the batch."""

    def forward(self, x):
        """With the others."""
        return x - x.mean(0)


class Normed(nn.Module):
    """Batch normalisation as a function."""

    def forward(self, x):
        """With the others."""
        return functional.batch_norm(x, None, None, training=True)


class Remembers(nn.Module):
    """Keeps the mean of the batch in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        """The output is clean, the buffer is not."""
        with torch.no_grad():
            self.seen.mul_(0.9).add_(x.mean(0))
        return x


class Attribute(nn.Module):
    """Uses what an earlier batch left in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.before = 0.0

    def forward(self, x):
        """Not a buffer, and still a way from one batch to the next."""
        shifted = x + self.before
        self.before = float(x.detach().mean())
        return shifted


class BackwardMix(nn.Module):
    """The output is clean; the gradients are mixed by a hook."""

    def forward(self, x):
        """As it is."""
        if x.requires_grad:
            x.register_hook(lambda g: g + g.mean(0))
        return x * 1.0


class InEval(nn.Module):
    """Statistics without a gradient, and only where it is large."""

    def forward(self, x):
        """Divided by the largest number of the batch."""
        return x / x.detach().abs().max()


class Roll(nn.Module):
    """Each example sees its neighbour."""

    def forward(self, x):
        """With some of the next example."""
        return x + 0.5 * x.roll(1, 0)


class Counter(nn.Module):
    """A buffer that counts batches: it changes, and not with the data."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        """As it is."""
        self.batches += 1
        return x


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize(
    "layer",
    [
        nn.BatchNorm1d(4),
        nn.BatchNorm1d(4, affine=False),
        nn.BatchNorm1d(4).requires_grad_(requires_grad=False),
        nn.BatchNorm1d(4).eval(),
        nn.SyncBatchNorm(4),
        nn.InstanceNorm1d(4, track_running_stats=True),
    ],
    ids=["trained", "affine=False", "frozen", "eval", "sync", "tracking"],
)
def test_layers_that_mix_are_refused_by_name(runs, layer, clipping):
    """Whatever their parameters; influence 81 before."""
    with pytest.raises(InvalidParameter, match=rf"1: {type(layer).__name__}"):
        first_step(runs, network(layer), nn.CrossEntropyLoss(), clipping=clipping)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("layer", [Centred, Normed, BackwardMix, InEval, Roll, Attribute])
def test_mixing_modules_are_found_by_the_probe(runs, layer, clipping):
    """Functional calls, hooks, statistics without a gradient; influence 3 and more before."""
    with pytest.raises(PlanMismatch, match="Examples of a batch influence each other"):
        first_step(runs, network(layer()), nn.CrossEntropyLoss(), clipping=clipping)


def test_the_layer_is_named(runs):
    """Where examples first influence each other."""
    with pytest.raises(PlanMismatch, match=r"first seen in the layer 1 \(Centred\)"):
        first_step(runs, network(Centred()), nn.CrossEntropyLoss())
    with pytest.raises(PlanMismatch, match="first seen in the criterion"):
        first_step(runs, network(), contrastive)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_buffers_that_are_updated_from_data(runs, clipping):
    """They hold data without noise; one that only counts is fine."""
    with pytest.raises(PlanMismatch, match=r"buffer 1\.seen is updated from the examples"):
        first_step(runs, network(Remembers()), nn.CrossEntropyLoss(), clipping=clipping)
    run = first_step(runs, network(Counter()), nn.CrossEntropyLoss(), clipping=clipping)
    assert run.taken_steps == 1
    # The probe does not count.
    assert int(dict(run.model.named_buffers())["_module.1.batches"]) == 1


def test_a_buffer_that_changes_later(runs):
    """One that stood still during the probe."""
    model = network(Counter())
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4)
    model.register_buffer("late", torch.zeros(6))
    run = runs.private(plan, model=model, dataset=data())
    criterion = run.loss(nn.CrossEntropyLoss())
    batches = iter(run.loader)
    points, labels = next(batches)
    criterion(run.model(points), labels).backward()
    run.optimizer.step()
    model.late.add_(points.mean(0))
    points, labels = next(batches)
    loss = criterion(run.model(points), labels)
    with pytest.raises(PlanMismatch, match="The buffer late was changed"):
        loss.backward()
    assert run.taken_steps == 1
