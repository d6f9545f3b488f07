"""Networks for the tests of the independence probe, and runs that take their first steps."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

import hockeystick as hs

EXAMPLES, CLASSES = 24, 3
FULL = hs.Plan(sampling=hs.FullBatch(), steps=20)


def data() -> TensorDataset:
    """Points with labels."""
    source = torch.Generator().manual_seed(2)
    points = torch.randn(EXAMPLES, 8, generator=source)
    return TensorDataset(points, torch.arange(EXAMPLES) % 3)


def network(*layers: nn.Module) -> nn.Module:
    """With some layers in the middle."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), *layers, nn.Tanh(), nn.Linear(8, 3))


def stepped(runs, model, clipping, *, steps=1, criterion=None, loop=None, **options):
    """A run after some steps."""
    options = {"dataset": data(), **options}
    run = runs.private(FULL, model=model, clipping=clipping, **options)
    criterion = run.loss(criterion or nn.CrossEntropyLoss())
    for points, labels in run.loader:
        run.optimizer.zero_grad()
        output = run.model(points)
        criterion(output if loop is None else loop(output), labels).backward()
        run.optimizer.step()
        if run.taken_steps == steps:
            break
    return run


class Function(nn.Module):
    """A layer made of a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        """What the function says."""
        return self.function(x)


def small_data() -> TensorDataset:
    """Points with labels, of which one class is rare."""
    source = torch.Generator().manual_seed(2)
    points = torch.randn(EXAMPLES, 6, generator=source)
    labels = torch.arange(EXAMPLES) % CLASSES
    return TensorDataset(points, labels)


def small_network(*extra: nn.Module) -> nn.Module:
    """Two layers with something between them."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), *extra, nn.Tanh(), nn.Linear(4, CLASSES))


def first_step(runs, model, criterion, *, clipping="per-sample", dataset=None):
    """One step with all examples; the run."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4)
    run = runs.private(plan, model=model, dataset=dataset or small_data(), clipping=clipping)
    criterion = run.loss(criterion)
    points, labels = next(iter(run.loader))
    criterion(run.model(points), labels).backward()
    run.optimizer.step()
    return run


def contrastive(outputs, labels):
    """Each example against all others of the batch."""
    z = functional.normalize(outputs)
    return functional.cross_entropy(z @ z.T, torch.arange(len(z)), reduction="none")
