"""A run whose noise and rate change twice and whose clip norm is adapted; as a script it is killed.

Usage: python adapted_run.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from torch import nn

import hockeystick as hs

STEPS, SAVED, KILLED = 12, 5, 7
EXAMPLES = 50


def made(folder, *, seed=None, arithmetic="exact"):
    """The run with the ledger of the folder."""
    source = torch.Generator().manual_seed(4)
    inputs = torch.randn(EXAMPLES, 3, generator=source)
    data = torch.utils.data.TensorDataset(inputs, (inputs[:, 0] > 0).long())
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    budget = hs.filters.Gaussian(mu=4.0, ledger=Path(folder) / "budget.db")
    return hs.torch.make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.5),
        data,
        hs.Plan(sampling=hs.Poisson(rate=0.3), steps=STEPS),
        noise_multiplier=1.2,
        max_grad_norm=hs.training.AdaptiveClipping(start=0.1, quantile=0.6),
        filter=budget,
        rng=seed,
        arithmetic=arithmetic,
    ), budget


def train(run, until, each=lambda: None):
    """Settings change after the second and the eighth step."""
    criterion = run.loss(nn.CrossEntropyLoss())
    for inputs, labels in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(inputs), labels).backward()
        run.optimizer.step()
        if run.taken_steps == 2:
            run.set(noise_multiplier=1.5, rate=0.5)
        if run.taken_steps == 8:
            run.set(noise_multiplier=2.5, rate=0.2)
        each()
        if run.taken_steps >= until:
            return


if __name__ == "__main__":
    started, _ = made(sys.argv[1])

    def save():
        """Once, some steps before the end."""
        if started.taken_steps == SAVED:
            started.save(Path(sys.argv[1]) / "saved")

    train(started, KILLED, save)
    os._exit(9)
