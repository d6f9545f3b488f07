"""A training step beside Opacus and, where it is installed, Opake: several sizes, bands, processes.

`parts` is what a plan adds to a step: a batch of indices, and a row of noise that is added to sums
and scaled. `step` is a whole step. Opacus runs plain DP-SGD, Opake has our bands.
Ours and Opacus' take turns in the same process, with whole steps of 10^8 parameters one after the
other, then comes Opake, in CPU time on one core. With
four or more bands our noise is computed for eight steps at a time, so that the mean of eight steps
is one measurement; for each the median of the small network and of the parts of 10^6 parameters,
and the least of others, whose steps differ by factors of two and three among themselves. In a
process group, in which Opake does not take part, the rank that needs more counts, and its waiting
is no CPU time. Needs the extra `torch`.
Usage: python training_steps.py [parts | step] [PARAMETERS] [BANDS]; keeps what was measured in
training_steps.json, from which the page of benchmarks has its table.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from opacus import GradSampleModule
from opacus.data_loader import DPDataLoader
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
from opacus.optimizers import DistributedDPOptimizer, DPOptimizer
from torch import nn
from torch.utils.data import DataLoader, Dataset

import hockeystick as hs
from hockeystick.strategies.recurrence import TOGETHER
from hockeystick.torch.sums import with_noise
from training_table import KEPT, KINDS, SMALL, Case, kept, row

EXAMPLES = 50_000
# Layers with 10^6 and 10^8 parameters, and the expected batch sizes: four gradients of the larger
# network take 1.6 gigabytes. The small one is the convolutional network of Opacus' MNIST example.
NETWORKS = {10**6: ((784, 1258, 10), 16), 10**8: ((9_990, 10_000, 10), 4), SMALL: ((784,), 64)}
SETTINGS = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}


class Numbers(Dataset):
    """Examples that are made when they are read."""

    def __init__(self, inputs: int) -> None:
        self._points = torch.randn(64, inputs, generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return EXAMPLES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self._points[index % 64], index % 10


def network(size: int) -> nn.Module:
    """Two layers, or a small convolutional network."""
    torch.manual_seed(0)
    if size == SMALL:
        return nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)),
            *(nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1)),
            *(nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten()),
            *(nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10)),
        )
    (inputs, hidden, classes), _ = NETWORKS[size]
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, classes))


def plan(case: Case) -> hs.Plan:
    """Poisson batches."""
    make = hs.strategies.bsr if case.bands > 0 else hs.strategies.bisr
    strategy = make(case.steps, abs(case.bands))
    rate = NETWORKS[case.size][1] / EXAMPLES
    return hs.Plan(sampling=hs.Poisson(rate=rate), steps=case.steps, strategy=strategy)


# -- batches and noise ----------------------------------------------------------------------------


def our_parts(case: Case) -> Iterator[None]:
    """A batch of indices and a row of noise, added to a sum and scaled."""
    like = list(network(case.size).parameters())
    planned = plan(case)
    batches = iter(hs.torch.BatchSampler(planned, examples=EXAMPLES))
    noise = hs.torch.TorchNoiseStream(planned, like, noise_memory=case.memory, **SETTINGS)
    sums = [torch.zeros(p.numel(), dtype=torch.float64) for p in like]
    size = NETWORKS[case.size][1]
    while True:
        next(batches)
        for total, own in zip(sums, next(noise), strict=True):
            with_noise(total, own, unit=1.0, size=size, dtype=torch.float32)
        yield


def opacus_parts(case: Case) -> Iterator[None]:
    """Its sampler, its noise, its scaling; always independent noise."""
    model = GradSampleModule(network(case.size))
    batch = NETWORKS[case.size][1]
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), expected_batch_size=batch, **SETTINGS
    )
    loader = DPDataLoader(Numbers(1), sample_rate=batch / EXAMPLES)
    sums = [torch.zeros_like(parameter) for parameter in optimizer.params]
    while True:
        for _ in loader.batch_sampler:
            for parameter, total in zip(optimizer.params, sums, strict=True):
                # Opacus marks the tensor, not its memory, as used.
                parameter.summed_grad = total.detach()
                parameter.grad_sample = parameter.summed_grad[None]
            optimizer.add_noise()
            optimizer.scale_grad()
            yield


def opake_noise(case: Case, like: dict[str, torch.Tensor]) -> Any:
    """Its noise for the same strategy, and the batches that it draws."""
    from opake.dpftrl import bsr_strategy, identity_strategy, mf_gaussian_noise
    from opake.dpsgd import PoissonSampler
    from opake.random import key

    strategy = identity_strategy()
    if case.bands > 1:
        strategy = bsr_strategy(bandwidth=case.bands, alpha=1.0, beta=0.0)
    noise = mf_gaussian_noise(like, strategy, n_steps=case.steps, noise_multiplier=1.0, key=key(1))
    rate = NETWORKS[case.size][1] / EXAMPLES
    return *noise, PoissonSampler(range(EXAMPLES), rate, n_steps=case.steps, key=key(2))


def opake_parts(case: Case) -> Iterator[None]:
    """Its sampler, its noise, our scaling."""
    from opake.types import clipped

    like = {name: p.detach() for name, p in network(case.size).named_parameters()}
    add, state, sampler = opake_noise(case, like)
    sums = {name: torch.zeros_like(p) for name, p in like.items()}
    for _ in sampler:
        noisy, state = add(clipped(sums, max_norm=1.0), state)
        for total in noisy.pytree.values():
            total.div_(NETWORKS[case.size][1])
        yield


# -- whole steps ----------------------------------------------------------------------------------


def loop(model: nn.Module, optimizer, loader, criterion) -> Iterator[None]:
    """One whole training step at a time."""
    while True:
        for points, labels in loader:
            optimizer.zero_grad()
            criterion(model(points), labels).backward()
            optimizer.step()
            yield


def our_steps(case: Case) -> Iterator[None]:
    """The plan's run; in a process group that of all ranks."""
    model, data = network(case.size), Numbers(NETWORKS[case.size][0][0])
    run = hs.torch.make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        data,
        plan(case),
        noise_memory=case.memory,
        **SETTINGS,
    )
    return loop(*run, run.loss(nn.CrossEntropyLoss()))


def opacus_steps(case: Case) -> Iterator[None]:
    """Opacus' loader and optimizer, those for several processes in a group."""
    (inputs, *_), batch = NETWORKS[case.size]
    data, model, together = Numbers(inputs), network(case.size), dist.is_initialized()
    ranks = dist.get_world_size() if together else 1
    if together:
        model = DifferentiallyPrivateDistributedDataParallel(model)
    model = GradSampleModule(model)
    optimizer = (DistributedDPOptimizer if together else DPOptimizer)(
        torch.optim.SGD(model.parameters(), lr=0.1), expected_batch_size=batch / ranks, **SETTINGS
    )
    loader = DPDataLoader(data, sample_rate=batch / EXAMPLES, distributed=together)
    return loop(model, optimizer, loader, nn.CrossEntropyLoss())


def opake_steps(case: Case) -> Iterator[None]:
    """Its gradients of the functional model, clipped and summed, its noise, a step of plain SGD."""
    from opake.dpsgd.clipping import clipped_grad

    (inputs, *_), batch = NETWORKS[case.size]
    model, data, criterion = network(case.size), Numbers(inputs), nn.CrossEntropyLoss()

    def loss(held: dict[str, torch.Tensor], point: torch.Tensor, label: torch.Tensor) -> Any:
        return criterion(torch.func.functional_call(model, held, (point[None],)), label[None])

    gradient, clip = clipped_grad(loss, clipping_norm=1.0, batch_argnums=(1, 2), normalize_by=batch)
    held = {name: p.detach().clone() for name, p in model.named_parameters()}
    add, state, sampler = opake_noise(case, held)
    for points, labels in DataLoader(data, batch_sampler=sampler):
        sums, clip = gradient(held, points, labels, state=clip)
        noisy, state = add(sums, state)
        for name, own in noisy.pytree.items():
            held[name] -= 0.1 * own
        yield


def compared(who: dict[str, Callable[..., Iterator[None]]], case: Case) -> dict[str, float]:
    """CPU seconds of one step of each, in turns, once memories are full."""
    if case.size == 10**8 and our_steps in who.values() and len(who) > 1:
        # One after the other: each takes gigabytes.
        return {name: compared({name: make}, case)[name] for name, make in who.items()}
    together = TOGETHER if case.bands > 3 else 1
    warm = abs(case.bands) + 2
    repeats = max({SMALL: 96, 10**6: 48, 10**8: 3}[case.size], together)
    # From the beginning of what is computed together.
    warm += -warm % together
    case = case._replace(steps=warm + repeats + 1)
    running = {name: make(case) for name, make in who.items()}
    times: dict[str, list[float]] = {name: [] for name in running}
    for number in range(warm + repeats):
        # Who comes first takes memory that the other may have given back to the system.
        for name, one in list(running.items())[:: 1 if number % 2 else -1]:
            start = time.process_time()
            next(one)
            if number >= warm:
                times[name].append(time.process_time() - start)
    # Of a small network, or of batches and noise alone, which take milliseconds, the median.
    steady = case.size == SMALL or (case.size < 10**8 and our_parts in who.values())
    pick = statistics.median if steady or opake_parts in who.values() else min
    return {
        name: pick([statistics.fmean(some) for some in batched(each, together)])
        for name, each in times.items()
    }


def batched(values: list[float], count: int) -> Iterator[list[float]]:
    """Neighbours, so many at a time."""
    return (values[i : i + count] for i in range(0, len(values), count))


def measured(kind: str, case: Case) -> dict[str, float]:
    """In this process, or in a group of two."""
    if case.processes == 1:
        parts = kind == "parts"
        ours, theirs = (our_parts, opacus_parts) if parts else (our_steps, opacus_steps)
        found = compared({"hockeystick": ours, "opacus": theirs}, case)
        # By itself, because it leaves no memory warm. It has no replay, and fills 64 bands slowly.
        if 0 < case.bands * case.size <= (10**8 if parts else 2 * 10**7) and _installed("opake"):
            found |= compared({"opake": opake_parts if parts else opake_steps}, case)
        return found
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        str(case.processes),
    ]
    command += ["--master-port", "29513", __file__, "--rank", json.dumps([kind, case])]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **ONE_THREAD}
    )
    # What two ranks print may be on one line.
    ranks = [json.loads(found) for found in re.findall(r"\{[^{}]*\}", done.stdout)]
    return {name: max(rank[name] for rank in ranks) for name in ranks[0]}


ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def on_one_core(number: int) -> None:
    """One thread: noise is drawn by as many as there are processors, PyTorch has its own number."""
    torch.set_num_threads(1)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})


def _installed(name: str) -> bool:
    try:
        __import__(f"{name}.dpftrl")
    except ImportError:
        return False
    return True


def main(kinds: list[str], sizes: list[int]) -> None:
    """Measure, keep, print."""
    warnings.filterwarnings("ignore")
    cores = os.sched_getaffinity(0)
    for kind in kinds:
        for case in KINDS[kind][1]:
            if sizes and not {case.size, case.bands} >= set(sizes):
                continue
            if case.processes == 1:
                on_one_core(0)
            found = {**measured(kind, case), "load": os.getloadavg()[0]}
            os.sched_setaffinity(0, cores)
            others = [one for one in kept() if one[:2] != (kind, case)]
            KEPT.write_text(json.dumps([*others, (kind, case, found)]) + "\n")
            print("| " + " | ".join(row(kind, case, found)) + " |", flush=True)


if __name__ == "__main__":
    if "--rank" in sys.argv:
        warnings.filterwarnings("ignore")
        dist.init_process_group("gloo")
        on_one_core(dist.get_rank())
        (kind, case), who = json.loads(sys.argv[-1]), {"hockeystick": our_steps}
        print(json.dumps(compared({**who, "opacus": opacus_steps}, Case(*case))), flush=True)
        dist.destroy_process_group()
    else:
        words = sys.argv[1:]
        kinds = [word for word in words if word in KINDS] or list(KINDS)
        main(kinds, [int(word) for word in words if word not in KINDS])
