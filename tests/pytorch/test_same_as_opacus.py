"""With independent noise and Poisson batches a step is Opacus' own, up to the random stream."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import nn

from hockeystick.torch import TorchNoiseStream

pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook")


def network(seed: int = 1) -> nn.Module:
    """About twenty thousand parameters, with a convolution and a normalisation."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Unflatten(1, (1, 40)),
        nn.Conv1d(1, 8, 5),
        nn.GroupNorm(2, 8),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(288, 64),
        nn.Tanh(),
        nn.Linear(64, 40),
    )


def flat(model: nn.Module) -> torch.Tensor:
    """All parameters in one vector."""
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def opacus_update(points, numbers, size, *, noise: float) -> torch.Tensor:
    """One step of Opacus' optimizer on the batch."""
    model = GradSampleModule(network())
    plain = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer = DPOptimizer(
        plain, noise_multiplier=noise, max_grad_norm=0.5, expected_batch_size=size
    )
    before = flat(model)
    nn.CrossEntropyLoss()(model(points), numbers).backward()
    optimizer.step()
    return flat(model) - before


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("most", [None, 2])
def test_clipping_scaling_and_noise_are_the_same(runs, clipping, most):
    """Without its noise our update is Opacus' without noise; the noise of both is as large."""
    plan = runs.independent(steps=3)
    run = runs.private(plan, model=network(), clipping=clipping, physical_batch_size=most, rng=21)
    criterion, before = run.loss(nn.CrossEntropyLoss()), runs.weights(run)
    points, numbers = [], []
    for some, their in run.loader:
        points.append(some)
        numbers.append(their)
        run.optimizer.zero_grad()
        criterion(run.model(some), their).backward()
        run.optimizer.step()
        if run.taken_steps == 1:
            break
    update = runs.weights(run) - before
    batch = torch.cat(points), torch.cat(numbers)
    size = run.expected_batch_size
    assert size == pytest.approx(runs.RATE * runs.EXAMPLES)
    assert len(batch[0]) != size
    gradient = opacus_update(*batch, size, noise=0.0)
    noise = run.optimizer.state_dict()["hockeystick"]["noise"]
    assert noise["step"] == 1
    drawn = (update - gradient) * -size
    spread = runs.NOISE * runs.CLIP
    theirs = (opacus_update(*batch, size, noise=runs.NOISE) - gradient) * -size
    for one in (drawn, theirs):
        assert abs(float(one.std()) / spread - 1) < 5 / math.sqrt(2 * one.numel())
        assert abs(float(one.mean())) < 5 * spread / math.sqrt(one.numel())
    # And the gradient itself, with the noise known: the stream of the same seed.
    again = TorchNoiseStream(
        plan,
        list(run.model.parameters()),
        noise_multiplier=runs.NOISE,
        max_grad_norm=runs.CLIP,
        rng=noise_seed(21),
    )
    known = torch.cat([part.flatten() for part in next(again)])
    assert torch.allclose(update, gradient - known / size, rtol=1e-4, atol=1e-6)


def noise_seed(seed: int):
    """Batches have the first child of the seed, noise the second."""
    return np.random.SeedSequence(seed, spawn_key=(1,))
