"""Accuracy of a small convolutional network on CIFAR-10 by two mechanisms: the second row.

Trained from pixels, in the place of fixed features: two convolutions, 11,082 parameters, 300 steps
with batches of 250 of 50,000 images at epsilon 8, delta 1e-5, otherwise as `cifar`. So short a
schedule is what two cores can do; `cifar_vgg` is the network of the paper, for a GPU. Takes some
minutes of processor time; needs the extra `train`.

Usage: python reproductions/cifar_network.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import TensorDataset

import cifar
from head_comparison import Comparison, Experiment, experiment, run_on_data
from head_mechanisms import DP_SGD, MECHANISMS, Size
from hockeystick.torch import make_private
from linear_heads import Data, Heads, Priced, Recipe, Trained, split
from private_training import without_opacus_remarks
from result_store import Store

__all__ = ["FULL", "draw", "fit", "main", "network"]

TRIED = (DP_SGD, "b-min-sep, BSR")
FULL = Comparison(
    size=Size(examples=50_000, batch_size=250, steps=300),
    delta=1e-5,
    epsilons=(8.0,),
    learning_rates=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
    tuning_seeds=1,
    seeds=3,
    mechanisms={name: MECHANISMS[name] for name in TRIED},
)
SMALL = replace(cifar.SMALL, mechanisms=FULL.mechanisms)
AT_ONCE = 1_000


def network() -> nn.Module:
    """Each layer halves the image; groups of channels are normalised, for every image by itself."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.GroupNorm(4, 32),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


def fit(data: Data, priced: Priced, recipe: Recipe, *, learning_rate: float, seed: int) -> Trained:
    """The network after all steps; the seed decides first weights, batches and noise."""
    torch.manual_seed(seed)
    model, steps = network(), priced.plan.steps
    # Steps of momentum add up to 1, as in `linear_heads`.
    first = (1 - recipe.momentum) * learning_rate
    optimizer = torch.optim.SGD(model.parameters(), lr=first, momentum=recipe.momentum)
    points, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    run: Any = None
    called: Any = model
    if priced.noise_multiplier == 0:
        batches = _plain(priced, points, labels, seed)
        step, criterion = optimizer, nn.CrossEntropyLoss()
    else:
        run = make_private(
            model,
            optimizer,
            TensorDataset(points, labels),
            priced.plan,
            noise_multiplier=priced.noise_multiplier,
            max_grad_norm=recipe.clip,
            rng=seed,
        )
        called, step, batches = run
        criterion = run.loss(nn.CrossEntropyLoss())
    with without_opacus_remarks():
        for number, (some, theirs) in enumerate(batches):
            for group in optimizer.param_groups:
                group["lr"] = first * recipe.rate(number, steps)
            step.zero_grad()
            criterion(called(some), theirs).backward()
            step.step()
    state = {name: values.detach().numpy() for name, values in model.state_dict().items()}
    return Trained(state, run, lambda pixels: _scores(model, pixels))


def _plain(
    priced: Priced, points: torch.Tensor, labels: torch.Tensor, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for batch in priced.plan.batches(examples=len(labels), rng=seed):
        yield points[batch], labels[batch]


def _scores(model: nn.Module, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    with torch.no_grad():
        found = [model(some) for some in torch.from_numpy(pixels).split(AT_ONCE)]
    return torch.cat(found).numpy()


def draw(folder: Path | None, small: bool) -> Experiment:
    """At one epsilon; in small mode for 20 steps."""
    torch.set_num_threads(1)
    if small:
        parts = cifar.made_up_parts(channels=3) if folder is None else cifar.few(cifar.load(folder))
    else:
        folder = cifar.FOLDER if folder is None else folder
        parts = cifar.load(folder)
    scaled = [part.pixels.astype(np.float32) / 127.5 - 1 for part in parts]
    data = Data(scaled[0], parts.train.labels, scaled[1], parts.test.labels)
    comparison, store = (SMALL, Store(None)) if small else (FULL, Store(folder / "runs"))
    about = {"name": "cifar_network"}
    tuning = split(data, len(data.labels) // 10)
    heads = Heads(data, tuning, Recipe(), comparison.delta, store, about, fit)
    title = "CIFAR-10, a small convolutional network"
    return experiment("cifar_network", title, heads, comparison)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
