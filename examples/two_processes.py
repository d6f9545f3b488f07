"""One run over two processes: each has its share of every batch and adds its part of the noise.

Usage: torchrun --nproc-per-node=2 examples/two_processes.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import distributed, nn
from torch.utils.data import TensorDataset

import hockeystick as hs

DELTA = 1e-5


def main(*, small: bool, output: Path) -> None:
    """The loop is that of one process; only the first one writes."""
    distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    first = distributed.get_rank() == 0
    torch.manual_seed(0)
    points, labels = load_digits(return_X_y=True)
    points, labels = torch.tensor(points, dtype=torch.float32) / 16, torch.tensor(labels)
    steps = 6 if small else 150
    plan = hs.Plan(
        sampling=hs.Poisson.for_batch_size(150, examples=1500),
        steps=steps,
        strategy=hs.strategies.bsr(steps, bands=2),
    )
    noise = hs.calibrate(plan, epsilon=8.0, delta=DELTA).noise_multiplier
    net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))
    run = hs.torch.make_private(
        net,
        torch.optim.SGD(net.parameters(), lr=0.5),
        TensorDataset(points[:1500], labels[:1500]),
        plan,
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )
    criterion, shares, accuracies = run.loss(nn.CrossEntropyLoss()), [], []
    for some, targets in run.loader:
        criterion(run.model(some), targets).backward()
        run.optimizer.step()
        run.optimizer.zero_grad()
        shares.append(len(some))
        with torch.no_grad():
            right = net(points[1500:]).argmax(1) == labels[1500:]
        accuracies.append(float(right.float().mean()))
    stated = run.statement(delta=DELTA)
    if first:
        stated.save(output / "two_processes.json")
        print(stated)
        plt.figure(figsize=(5, 3))
        plt.plot(accuracies)
        plt.xlabel("step")
        plt.ylabel("accuracy on 297 other digits")
        ranks = distributed.get_world_size()
        plt.title(f"{ranks} processes, ε = {stated.epsilon:.3g}, δ = {DELTA:g}")
        plt.tight_layout()
        plt.savefig(output / "two_processes.png", dpi=120)
    distributed.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))
