"""Losses that depend on tensors outside the model."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import PlanMismatch
from in_one_test import in_one_test


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
