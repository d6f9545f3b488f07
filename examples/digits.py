"""A convolutional classifier of handwritten digits: balls-in-bins batches, correlated noise.

Usage: python examples/digits.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs

DELTA = 1e-5


def network() -> nn.Module:
    """Two convolutions with group normalisation."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


def main(*, small: bool, output: Path) -> None:
    """Train, test, state, draw."""
    torch.manual_seed(0)
    pictures, labels = load_digits(return_X_y=True)
    pictures = torch.tensor(pictures, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels)
    training = TensorDataset(pictures[:1500], labels[:1500])

    epochs, bins = (1, 5) if small else (20, 15)
    steps = epochs * bins
    plan = hs.Plan(
        sampling=hs.BallsInBins(bins=bins), steps=steps, strategy=hs.strategies.bsr(steps, bands=4)
    )
    noise = hs.calibrate(plan, epsilon=8.0, delta=DELTA).noise_multiplier
    net = network()
    run = hs.torch.make_private(
        net,
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
        training,
        plan,
        noise_multiplier=noise,
        max_grad_norm=1.0,
        clipping="ghost",
    )
    criterion, accuracies = run.loss(nn.CrossEntropyLoss()), []
    for epoch in run.epochs():
        for points, targets in epoch:
            criterion(run.model(points), targets).backward()
            run.optimizer.step()
            run.optimizer.zero_grad()
        with torch.no_grad():
            right = net(pictures[1500:]).argmax(1) == labels[1500:]
        accuracies.append(float(right.float().mean()))

    stated = run.statement(delta=DELTA)
    stated.save(output / "digits.json")
    print(stated)
    plt.figure(figsize=(5, 3))
    plt.plot(range(1, len(accuracies) + 1), accuracies, marker=".")
    plt.xlabel("epoch")
    plt.ylabel("accuracy on 297 other digits")
    plt.title(f"ε = {stated.epsilon:.3g}, δ = {DELTA:g}")
    plt.tight_layout()
    plt.savefig(output / "digits.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))
