"""Clipped sums in floating point: what rounding can add to the influence of one example."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.torch.sums import per_example_norms, weighted_sum

# Of double precision, rounded up.
ROUNDING = 1.2e-16


def rows(kind: str, count: int, width: int) -> torch.Tensor:
    """Gradients that are hard to add."""
    source = torch.Generator().manual_seed(count)
    noise = torch.randn(count, width, generator=source)
    if kind == "equal":
        return torch.full((count, width), 0.1)
    if kind == "cancelling":
        return noise[:1].repeat(count, 1) * torch.tensor([1.0, -1.0]).repeat(count)[:count, None]
    if kind == "huge":
        return noise * 10.0 ** torch.randint(-30, 38, (count, 1), generator=source)
    return noise


def clipped(gradients: torch.Tensor) -> torch.Tensor:
    """The sum at clip norm 1."""
    norms = per_example_norms([gradients])
    everyone = torch.arange(len(gradients))
    batch = PhysicalBatch(0, everyone, first=True, last=True, counted=len(gradients))
    return weighted_sum(gradients, ClipLimit(1.0).factors(norms, batch))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "cancelling", "huge", "random"])
@pytest.mark.parametrize(("count", "width"), [(100_000, 40), (50, 200_000), (3, 1)])
def test_the_influence_of_an_example_is_at_most_one(kind, count, width):
    """With the example and without it, in clip norms; rounding adds what the module states."""
    gradients = rows(kind, count, width)
    influence = float(torch.linalg.vector_norm(clipped(gradients) - clipped(gradients[1:])))
    assert influence <= 1.0 + 2 * ROUNDING * count**2 + ROUNDING * width


@pytest.mark.parametrize("kind", ["equal", "cancelling", "huge", "random"])
def test_against_exact_sums(kind):
    """Fractions instead of floating point."""
    gradients, weights = rows(kind, 37, 5), torch.rand(37, dtype=torch.float64)
    found = weighted_sum(gradients, weights)
    for column in range(5):
        terms = [
            Fraction(w) * Fraction(g)
            for w, g in zip(weights.tolist(), gradients[:, column].tolist(), strict=True)
        ]
        bound = 37 * ROUNDING * float(sum(abs(t) for t in terms))
        assert abs(Fraction(float(found[column])) - sum(terms)) <= bound
    norms = per_example_norms([gradients[:, :2], gradients[:, 2:]])
    for norm, row in zip(norms.tolist(), gradients.tolist(), strict=True):
        assert norm == pytest.approx(math.hypot(*row), rel=1e-15)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rows_of_every_type(dtype):
    """Sums and norms are in double precision whatever the rows are in."""
    gradients = torch.randn(70, 3, 5).to(dtype)
    weights = torch.rand(70)
    found = weighted_sum(gradients, weights)
    assert found.dtype == torch.float64
    wanted = torch.einsum("i,i...", weights.double(), gradients.double()).flatten()
    assert torch.allclose(found, wanted, rtol=1e-14, atol=1e-14)
    norms = per_example_norms([gradients])
    assert torch.allclose(norms, gradients.double().flatten(1).norm(dim=1), rtol=1e-14)


def plain_factors(limit, norms, batch, share, gamma):
    """By PyTorch, one operation after the other."""
    longest = torch.full_like(norms, limit.clip)
    if limit.lengths is not None:
        longest = limit.lengths[batch.indices]
    if gamma is None:
        factors = (longest * share / (norms + 1e-6)).clamp(max=1.0)
    else:
        factors = longest * share / (norms + gamma)
    factors = (factors * limit.unit).nan_to_num(nan=0.0)
    factors[batch.counted :] = 0.0
    return factors


@pytest.mark.parametrize("lengths", [None, "random", "zero"])
@pytest.mark.parametrize("gamma", [None, 0.01])
@pytest.mark.parametrize(("counted", "size"), [(0, 9), (4, 9), (9, 9), (1, 1)])
def test_factors_of_every_norm(lengths, gamma, counted, size):
    """Zero, subnormal, huge, infinite and no number; on another type the same up to rounding."""
    norms = [0.3, 0.0, 1e-9, 1.0, 2.0, 1e300, math.inf, math.nan, 1e-320]
    norms = torch.tensor(norms[:size], dtype=torch.float64)
    of_each = None if lengths is None else torch.rand(20, dtype=torch.float64)
    if lengths == "zero":
        of_each = torch.zeros(20, dtype=torch.float64)
    batch = PhysicalBatch(0, torch.arange(3, 3 + size), first=True, last=True, counted=counted)
    for unit, share in ((1.0, 1.0), (3.7, 0.3)):
        limit = ClipLimit(0.7, of_each, unit)
        found = limit.factors(norms, batch, share=share, gamma=gamma)
        wanted = plain_factors(limit, norms, batch, share, gamma)
        assert found.dtype == torch.float64
        assert torch.allclose(found, wanted, rtol=4.5e-16, atol=0)
        single = limit.factors(norms.float(), batch, share=share, gamma=gamma)
        assert torch.allclose(found.float(), single.float(), rtol=1e-6, atol=0)


def autocast():
    """Half precision wherever PyTorch thinks it is good enough."""
    return torch.autocast("cpu", torch.bfloat16)


def sums(runs, points, labels, *, clipping, context) -> torch.Tensor:
    """Of all examples, as a run computes them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 10))
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = runs.private(
        plan,
        model=model,
        dataset=TensorDataset(points, labels),
        clipping=clipping,
        max_grad_norm=1.0,
    )
    points, labels = next(iter(run.loader))
    with context:
        loss = run.loss(nn.CrossEntropyLoss())(run.model(points), labels)
    loss.backward()
    piece, _ = run._progress.current()
    return torch.cat(run._gradients.take(piece))


@pytest.mark.slow
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize(
    ("clipping", "context", "most"),
    [
        ("per-sample", contextlib.nullcontext, 1.0 + 1e-9),
        # Sums were rounded in half precision before: influence 11 with equal examples.
        ("per-sample", autocast, 1.0 + 1e-3),
        ("ghost", contextlib.nullcontext, 1.0 + 1e-9),
        ("ghost", autocast, 1.0 + 1e-3),
    ],
)
def test_the_influence_in_a_run(runs, clipping, context, most, equal):
    """1,503 examples against 1,502."""
    source = torch.Generator().manual_seed(1)
    points = torch.randn(1503, 20, generator=source)
    labels = torch.randint(10, (1503,), generator=source)
    if equal:
        points, labels = torch.ones_like(points), torch.zeros_like(labels)
    whole, less = (
        sums(runs, points[:n], labels[:n], clipping=clipping, context=context())
        for n in (1503, 1502)
    )
    assert float(torch.linalg.vector_norm(whole - less)) <= most
