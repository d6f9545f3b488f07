"""The probe on 200 random networks: no mixing one passes, no clean one is refused."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest

pytest.importorskip("opacus", reason="needs the extra torch")
torch = pytest.importorskip("torch", reason="needs the extra torch")

from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

import hockeystick as hs  # noqa: E402
from hockeystick.errors import PlanMismatch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

GROUPS = 10


@pytest.fixture(scope="module")
def networks():
    """The file beside this one."""
    path = Path(__file__).with_name("random_networks.py")
    spec = importlib.util.spec_from_file_location("random_networks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def probed(runs, networks, seed: int, *, mixing: bool):
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
@pytest.mark.parametrize("group", range(GROUPS))
def test_clean_networks_pass(runs, networks, group):
    """And what rounding changes stays ten times below the tolerance."""
    for seed in range(group, 100, GROUPS):
        run = probed(runs, networks, seed, mixing=False)
        report = run.record().probe
        assert report["largest_change"] < 3e-5, seed
        assert report["examples"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_mixing_networks_are_refused(runs, networks, group):
    """Whichever layer, hook or loss it is."""
    for seed in range(group, 100, GROUPS):
        with pytest.raises(PlanMismatch, match=r"influence each other|updated from the examples"):
            probed(runs, networks, seed, mixing=True)


@pytest.mark.slow
def test_the_probe_is_cheap(runs):
    """Under a tenth of ten steps, in CPU time of one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        probe, ten_steps = times(runs)
    finally:
        torch.set_num_threads(threads)
    assert probe < 0.1 * ten_steps


def times(runs) -> tuple[float, float]:
    """Of the probe and of ten steps, the fastest of three each."""
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
    probe = min(measured(run.probe, 1) for _ in range(3))
    return probe, min(measured(step, 10) for _ in range(3))
