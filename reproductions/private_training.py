"""What the training scripts share: accounted plans, private runs of them, accuracies over seeds."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.special import stdtrit
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.torch import make_private

__all__ = [
    "CalibratedPlan",
    "Recipe",
    "accuracy",
    "best_plan",
    "half_width",
    "train_plainly",
    "train_privately",
    "without_opacus_remarks",
]

CONFIDENCE = 0.95


@dataclass(frozen=True)
class CalibratedPlan:
    """A plan with the noise that it needs, and how long it took to find out."""

    plan: hs.Plan
    noise_multiplier: float
    method: str
    seconds: float = 0.0

    @property
    def mse(self) -> float:
        """The mean squared error of prefix sums, in squared clip norms."""
        return self.noise_multiplier**2 * self.plan.strategy.mean_squared_error()


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; `schedule(step)` scales the learning rate."""

    network: Callable[[], nn.Module]
    clip: float
    momentum: float = 0.0
    schedule: Callable[[int], float] = lambda _: 1.0
    physical_batch_size: int | None = None


def best_plan(
    plans: Sequence[hs.Plan],
    *,
    epsilon: float,
    delta: float,
    accuracy: float,
    budget: float,
    by_draws: bool = False,
) -> CalibratedPlan:
    """The plan with the smallest error, at noise that is proven or `by_draws` verified.

    Plans are compared before any data are seen, so the choice costs no privacy; verified ones share
    the probability of a wrong acceptance.
    """
    start = time.perf_counter()
    found = []
    method: Any = hs.MonteCarlo(choices=len(plans)) if by_draws else "auto"
    for plan in plans:
        noise = hs.calibrate(
            plan, epsilon=epsilon, delta=delta, method=method, accuracy=accuracy, budget=budget
        )
        if noise.guarantee.kind not in ("proven", "verified"):
            raise AssertionError(noise.guarantee.kind)
        found.append(CalibratedPlan(plan, noise.noise_multiplier, noise.guarantee.method))
    best = min(found, key=lambda calibrated: calibrated.mse)
    return replace(best, seconds=round(time.perf_counter() - start, 1))


def train_privately(
    recipe: Recipe,
    data: TensorDataset,
    calibrated: CalibratedPlan,
    *,
    learning_rate: float,
    seed: int,
) -> nn.Module:
    """The network after all steps of the plan; `seed` decides weights, batches and noise.

    Seeds make a comparison repeatable. A run on data that are to be protected has none.
    """
    torch.manual_seed(seed)
    network = recipe.network()
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate, momentum=recipe.momentum)
    run = make_private(
        network,
        optimizer,
        data,
        calibrated.plan,
        noise_multiplier=calibrated.noise_multiplier,
        max_grad_norm=recipe.clip,
        physical_batch_size=recipe.physical_batch_size,
        rng=seed,
    )
    criterion = run.loss(nn.CrossEntropyLoss())

    def follow_schedule(*_: object) -> None:
        """The learning rate of the next step; a loop over physical batches may not change it."""
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * recipe.schedule(run.taken_steps)

    follow_schedule()
    run.optimizer.register_step_post_hook(follow_schedule)
    with without_opacus_remarks():
        for points, labels in run.loader:
            run.optimizer.zero_grad()
            criterion(run.model(points), labels).backward()
            run.optimizer.step()
    return network


def train_plainly(
    recipe: Recipe, data: TensorDataset, plan: hs.Plan, *, learning_rate: float, seed: int
) -> nn.Module:
    """The same without clipping and noise, for comparison: not private at all."""
    torch.manual_seed(seed)
    network = recipe.network()
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate, momentum=recipe.momentum)
    for step, batch in enumerate(plan.batches(examples=len(data), rng=seed)):
        points, labels = data[torch.from_numpy(batch)]
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * recipe.schedule(step)
        optimizer.zero_grad()
        if batch.size:
            nn.functional.cross_entropy(network(points), labels).backward()
            optimizer.step()
    return network


def accuracy(network: nn.Module, data: TensorDataset, *, at_once: int = 1000) -> float:
    """The share of examples whose label is found."""
    points, labels = data.tensors
    network.eval()
    with torch.no_grad():
        right = [
            (network(some).argmax(1) == their).sum().item()
            for some, their in zip(points.split(at_once), labels.split(at_once), strict=True)
        ]
    return sum(right) / len(labels)


def half_width(values: Sequence[float]) -> float:
    """Half of Student's 95 % interval for the mean; infinite for a single value."""
    count = len(values)
    if count < 2:
        return math.inf
    quantile: Any = stdtrit(count - 1, (1 + CONFIDENCE) / 2)
    return float(quantile * np.std(values, ddof=1) / math.sqrt(count))


@contextmanager
def without_opacus_remarks() -> Iterator[None]:
    """No warning about hooks: the inputs of the first layer need no gradient."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Full backward hook")
        yield
