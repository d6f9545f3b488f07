"""What the plan's batches and noise cost per step, compared with Opacus' own.

A model of 1,000,000 parameters, Poisson batches, noise correlated over 16 bands against Opacus'
Poisson batches and independent noise; repetitions of both alternate.
`step` is a whole training step; `batches and noise` is the same without forward, backward and
clipping, which are common to both. Needs the extra `torch`.
Usage: python torch_overhead.py [REPEATS]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import torch
from opacus.data_loader import DPDataLoader
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.strategies.recurrence import TOGETHER
from hockeystick.torch import BatchSampler, TorchNoiseStream, make_private

EXAMPLES, BATCH, BANDS = 50_000, 64, 16
INPUTS, HIDDEN, CLASSES = 784, 1258, 10
# Our noise is computed for eight steps at a time: their mean is one measurement.
WARM_UP = BANDS + TOGETHER


def network() -> nn.Module:
    """Two layers with one million parameters."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))


def plan(steps: int) -> hs.Plan:
    """Poisson batches with banded noise."""
    return hs.Plan(
        sampling=hs.Poisson(rate=BATCH / EXAMPLES),
        steps=steps,
        strategy=hs.strategies.bsr(steps, bands=BANDS),
    )


def steps_of(
    model: nn.Module, optimizer: torch.optim.Optimizer, loader, criterion
) -> Iterator[None]:
    """One whole training step at a time, for ever or as long as the plan lasts."""
    while True:
        for points, labels in loader:
            optimizer.zero_grad()
            criterion(model(points), labels).backward()
            optimizer.step()
            yield


def our_steps(steps: int, data: TensorDataset) -> Iterator[None]:
    """The plan's run."""
    model = network()
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    run = make_private(model, plain, data, plan(steps), noise_multiplier=1.0, max_grad_norm=1.0)
    return steps_of(*run, run.loss(nn.CrossEntropyLoss()))


def opacus_steps(data: TensorDataset) -> Iterator[None]:
    """Opacus' loader and optimizer."""
    model = GradSampleModule(network())
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = DPOptimizer(
        plain, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=BATCH
    )
    loader = DPDataLoader(data, sample_rate=BATCH / EXAMPLES)
    return steps_of(model, optimizer, loader, nn.CrossEntropyLoss())


def our_parts(steps: int) -> Iterator[None]:
    """A batch of indices and a row of noise, added to a sum and scaled."""
    parameters = list(network().parameters())
    batches = iter(BatchSampler(plan(steps), examples=EXAMPLES))
    noise = TorchNoiseStream(plan(steps), parameters, noise_multiplier=1.0, max_grad_norm=1.0)
    while True:
        sums = [torch.zeros_like(p) for p in parameters]
        next(batches)
        for total, own in zip(sums, next(noise), strict=True):
            total.add_(own).div_(BATCH)
        yield


def opacus_parts(data: TensorDataset) -> Iterator[None]:
    """The same of Opacus: its sampler, its noise, its scaling."""
    model = GradSampleModule(network())
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = DPOptimizer(
        plain, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=BATCH
    )
    loader = DPDataLoader(data, sample_rate=BATCH / EXAMPLES)
    while True:
        for _ in loader.batch_sampler:
            for parameter in optimizer.params:
                parameter.summed_grad = torch.zeros_like(parameter)
                parameter.grad_sample = parameter.summed_grad[None]
            optimizer.add_noise()
            optimizer.scale_grad()
            yield


def compared(first: Iterator[None], second: Iterator[None], repeats: int) -> dict[str, float]:
    """Seconds for one step of each, measured in turns: medians, and the least on a busy machine."""
    for _ in range(WARM_UP):
        next(first), next(second)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for one, into in zip((first, second), times, strict=True):
            start = time.perf_counter()
            for _ in range(TOGETHER):
                next(one)
            into.append((time.perf_counter() - start) / TOGETHER)
    (ours, theirs), (least, their_least) = (map(pick, times) for pick in (statistics.median, min))
    return {
        "ours": ours,
        "opacus": theirs,
        "ratio": ours / theirs,
        "least_ours": least,
        "least_opacus": their_least,
        "least_ratio": least / their_least,
    }


def measured(repeats: int) -> dict[str, dict[str, float]]:
    """Both comparisons."""
    warnings.filterwarnings("ignore", message="Full backward hook")
    # With two threads on a busy machine, what is measured is how long one waits for the other.
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(EXAMPLES, INPUTS), torch.randint(CLASSES, (EXAMPLES,)))
    steps = WARM_UP + repeats * TOGETHER + 1
    pairs: dict[str, Callable[[], tuple[Iterator[None], Iterator[None]]]] = {
        "step": lambda: (our_steps(steps, data), opacus_steps(data)),
        "batches and noise": lambda: (our_parts(steps), opacus_parts(data)),
    }
    return {name: compared(*pair(), repeats) for name, pair in pairs.items()}


def main(repeats: int) -> None:
    """Print both comparisons as JSON."""
    found = measured(repeats)
    parameters = sum(p.numel() for p in network().parameters())
    print(json.dumps({"parameters": parameters, "bands": BANDS, **found}, indent=2))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
