"""Parameters in half precision: sums and noise are wider, and rounded once with the update."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import PlanMismatch

HALF = [torch.bfloat16, torch.float16]
CLIPPINGS = ["per-sample", "ghost"]


def examples(dtype, count=40):
    """In the type of the parameters, as a loop would cast them."""
    source = torch.Generator().manual_seed(5)
    points = torch.randn(count, 6, generator=source).to(dtype)
    return TensorDataset(points, torch.randint(3, (count,), generator=source))


def private(dtype, *layers, clipping="per-sample", **options):
    """A run of full batches with correlated noise."""
    torch.manual_seed(0)
    model = nn.Sequential(*(layers or (nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)))).to(dtype)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=hs.strategies.bsr(4, bands=3))
    settings = {"noise_multiplier": 0.5, "max_grad_norm": 1.0, "rng": 3, **options}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    return hs.torch.make_private(
        model, optimizer, examples(dtype), plan, clipping=clipping, **settings
    )


def gradients(run):
    """What the optimizer got in each step, flat."""
    criterion, found = run.loss(nn.CrossEntropyLoss()), []
    for points, labels in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(points), labels).backward()
        run.optimizer.step()
        found.append([p.grad.clone() for p in run.model.parameters()])
    return found


@pytest.mark.parametrize("clipping", CLIPPINGS)
@pytest.mark.parametrize("dtype", HALF)
def test_a_run_in_half_precision(dtype, clipping):
    """Its first gradient is the sum and noise of single precision, up to rounding of the model."""
    run = private(dtype, clipping=clipping)
    found = gradients(run)
    single = gradients(private(torch.float32, clipping=clipping))
    assert run.taken_steps == 4
    assert run.record().probe["examples"] >= 2
    for got, wanted in zip(found[0], single[0], strict=True):
        assert got.dtype == dtype
        assert got.double() == pytest.approx(wanted.double(), abs=0.02 * float(wanted.abs().max()))


@pytest.mark.parametrize("dtype", HALF)
def test_noise_is_rounded_once(dtype):
    """Where nothing else is in the gradient, it is the rounded noise of single precision."""
    run = private(dtype, clipping="ghost")
    plan, shapes = run.plan, [torch.empty(p.shape) for p in run.model.parameters()]
    stream = hs.torch.TorchNoiseStream(
        plan, shapes, noise_multiplier=0.5, max_grad_norm=1.0, rng=of_noise(3)
    )
    assert run.optimizer._noise.memory.dtype == torch.float32
    criterion = run.loss(lambda outputs: (outputs * 0.0).sum(dim=1))
    for (points, _), rows in zip(run.loader, stream, strict=True):
        run.optimizer.zero_grad()
        criterion(run.model(points)).backward()
        run.optimizer.step()
        for parameter, row in zip(run.model.parameters(), rows, strict=True):
            assert torch.equal(parameter.grad, (row.double() / 40).to(dtype))


def of_noise(seed):
    """The source that a run takes for its noise."""
    from hockeystick.torch.run_settings import sources

    return sources(seed)[1]


class Mixing(nn.Module):
    """Adds a little of the others."""

    def forward(self, inputs):
        """A tenth of their mean."""
        return inputs + 0.1 * inputs.mean(dim=0)


@pytest.mark.parametrize("clipping", CLIPPINGS)
@pytest.mark.parametrize("dtype", HALF)
def test_the_probe_sees_mixing(dtype, clipping):
    """It compares in double precision, where rounding does not hide it."""
    run = private(dtype, nn.Linear(6, 8), Mixing(), nn.Linear(8, 3), clipping=clipping)
    with pytest.raises(PlanMismatch, match="influence each other"):
        gradients(run)


@pytest.mark.parametrize("clipping", CLIPPINGS)
@pytest.mark.parametrize("dtype", HALF)
def test_the_influence_of_an_example(dtype, clipping):
    """Sums of 40 and of 39 examples differ by at most the clip norm."""
    sums = []
    for count in (40, 39):
        run = private(dtype, clipping=clipping)
        data = examples(dtype)[:count]
        plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
        model = run.model._module
        run.close()
        again = hs.torch.make_private(
            model,
            torch.optim.SGD(model.parameters(), lr=0.1),
            TensorDataset(*data),
            plan,
            noise_multiplier=1.0,
            max_grad_norm=0.01,
            clipping=clipping,
        )
        points, labels = next(iter(again.loader))
        again.loss(nn.CrossEntropyLoss())(again.model(points), labels).backward()
        batch, _ = again._progress.current()
        sums.append(torch.cat(again._gradients.take(batch)))
    assert float(torch.linalg.vector_norm(sums[0] - sums[1])) <= 0.01 * (1 + 1e-9)
