"""Private runs that are small enough for tests; as a script, one that continues from a saved state.

Usage: python small_runs.py STATE OUTPUT
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.torch import TorchRun, make_private

STEPS, EXAMPLES, INPUTS, OUTPUTS = 16, 40, 40, 50
CLIP, NOISE, RATE = 0.5, 1.5, 0.15


def data(examples: int = EXAMPLES, *, inputs: int = INPUTS) -> TensorDataset:
    """Points with their numbers, so that a test knows who is in a batch."""
    source = torch.Generator().manual_seed(11)
    points = torch.randn(examples, inputs, generator=source)
    return TensorDataset(points, torch.arange(examples))


def banded(steps: int = STEPS, *, bands: int = 4, **changes: Any) -> hs.Plan:
    """A plan with correlated noise."""
    sampling = changes.pop("sampling", hs.Poisson(rate=RATE))
    return hs.Plan(
        sampling=sampling, steps=steps, strategy=hs.strategies.bsr(steps, bands=bands), **changes
    )


def independent(steps: int = STEPS, *, rate: float = RATE) -> hs.Plan:
    """Poisson batches and independent noise."""
    return hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps)


def linear_model(seed: int = 5) -> nn.Module:
    """A linear map; with `linear_loss` the gradients do not depend on its weights."""
    torch.manual_seed(seed)
    return nn.Linear(INPUTS, OUTPUTS, bias=False)


def private(
    plan: hs.Plan,
    *,
    model: nn.Module | None = None,
    dataset: Any = None,
    lr: float = 1.0,
    **options: Any,
) -> TorchRun:
    """A run with plain gradient descent."""
    model = linear_model() if model is None else model
    settled = {"noise_multiplier": NOISE, "max_grad_norm": CLIP, "rng": 3, **options}
    return make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=lr),
        data() if dataset is None else dataset,
        plan,
        **settled,
    )


class LinearLoss(nn.Module):
    """Mean over the batch of the sum of the outputs."""

    reduction = "mean"

    def forward(self, outputs: torch.Tensor) -> torch.Tensor:
        """One number, or one for each example."""
        each = outputs.sum(dim=1)
        return each if self.reduction == "none" else getattr(each, self.reduction)()


def weights(run: TorchRun) -> torch.Tensor:
    """All parameters in one vector."""
    return torch.cat([p.detach().flatten().clone() for p in run.model.parameters()])


def train(run: TorchRun, until: int | None = None) -> tuple[list[list[int]], list[torch.Tensor]]:
    """Until so many steps are taken: who was in each physical batch, and the weights after it."""
    model, optimizer, loader = run
    criterion = run.loss(LinearLoss())
    batches, path = [], []
    for points, numbers in loader:
        optimizer.zero_grad()
        criterion(model(points)).backward()
        optimizer.step()
        batches.append(numbers.tolist())
        path.append(weights(run))
        if until is not None and run.taken_steps >= until:
            break
    return batches, path


def clipped_sum(points: torch.Tensor, clip: float = CLIP) -> torch.Tensor:
    """By hand: every example's gradient of `LinearLoss` has its point in all rows."""
    total = torch.zeros(OUTPUTS, INPUTS)
    for point in points:
        gradient = point.expand(OUTPUTS, INPUTS)
        total += gradient * min(1.0, clip / (float(gradient.norm()) + 1e-6))
    return total.flatten()


if __name__ == "__main__":
    resumed = private(banded(), model=linear_model(seed=99), rng=1234)
    resumed.load_state_dict(torch.load(sys.argv[1]))
    torch.save(train(resumed), sys.argv[2])
