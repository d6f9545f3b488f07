"""The probe on 200 random networks: no mixing one passes, no clean one is refused."""

from __future__ import annotations

import time

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import PlanMismatch
from pytorch import random_networks as networks

pytestmark = pytest.mark.filterwarnings("ignore")

# Networks 0 to 99 in ten groups; the others of the sweep run in `make test-long`.
GROUPS = [
    group if group < 2 else pytest.param(group, marks=pytest.mark.long) for group in range(10)
]


def probed(runs, seed: int, *, mixing: bool):
    """The run after its first backward pass."""
    model, loss = networks.network(seed, mixing=mixing)
    clipping = "ghost" if seed % 2 else "per-sample"
    run = runs.private(
        hs.Plan(sampling=hs.FullBatch(), steps=2),
        model=model,
        dataset=networks.data(9 + seed % 20, seed=seed),
        clipping=clipping,
    )
    points, labels = next(iter(run.loader))
    run.loss(loss)(run.model(points), labels).backward()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_clean_networks_pass(runs, group):
    """And what rounding changes stays ten times below the tolerance."""
    for seed in range(group, 100, 10):
        run = probed(runs, seed, mixing=False)
        report = run.record().probe
        assert report["largest_change"] < 3e-5, seed
        assert report["examples"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_mixing_networks_are_refused(runs, group):
    """Whichever layer, hook or loss it is."""
    for seed in range(group, 100, 10):
        with pytest.raises(PlanMismatch, match=r"influence each other|updated from the examples"):
            probed(runs, seed, mixing=True)


@pytest.mark.slow
def test_the_probe_is_cheap(runs):
    """One step and a half at most, in CPU time of one thread.

    Steps allocate more than the probe does: the ratio depends on what the process did before.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        probe, ten_steps = times(runs)
    finally:
        torch.set_num_threads(threads)
    assert probe < 0.15 * ten_steps


def times(runs) -> tuple[float, float]:
    """Of the probe and of ten steps, the faster of two each."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 196, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )
    dataset = TensorDataset(torch.randn(128, 1, 28, 28), torch.randint(10, (128,)))
    plan = hs.Plan(sampling=hs.FullBatch(), steps=40)
    run = runs.private(plan, model=model, dataset=dataset)
    criterion = run.loss(nn.CrossEntropyLoss())
    batches = iter(run.loader)

    def step() -> None:
        points, labels = next(batches)
        criterion(run.model(points), labels).backward()
        run.optimizer.step()

    def measured(work, repeats: int) -> float:
        start = time.process_time()
        for _ in range(repeats):
            work()
        return time.process_time() - start

    step()
    run.probe()
    probe = min(measured(run.probe, 1) for _ in range(2))
    return probe, min(measured(step, 10) for _ in range(2))
