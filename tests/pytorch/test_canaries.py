"""run.audit() of PyTorch runs, through canaries beside the parameters; batches of one shape."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch

EXAMPLES = 60


def run_of(plan, *, noise=1.0, canaries=200, **options):
    """A run of a small model."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    data = torch.utils.data.TensorDataset(torch.randn(EXAMPLES, 3), torch.randint(2, (EXAMPLES,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return hs.torch.make_private(
        model,
        optimizer,
        data,
        plan,
        noise_multiplier=noise,
        max_grad_norm=0.5,
        canaries=canaries,
        rng=5,
        **options,
    )


def train(run, *, sizes=None):
    """All steps; the sizes of batches are noted."""
    criterion = run.loss(torch.nn.CrossEntropyLoss())
    for inputs, labels in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(inputs), labels).backward()
        run.optimizer.step()
        if sizes is not None:
            sizes.append(len(inputs))
    return run


PLANS = {
    "poisson": hs.Plan(sampling=hs.Poisson(rate=0.1), steps=60),
    "min-sep": hs.Plan(
        sampling=hs.MinSep(rate=0.1, separation=4),
        steps=60,
        strategy=hs.strategies.bsr(60, bands=4),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_correct_runs_are_consistent(name, arithmetic):
    """And the plan at another noise, or with other batches, is not what they did."""
    run = train(run_of(PLANS[name], arithmetic=arithmetic))
    report = run.audit()
    assert report.consistent, str(report)
    assert report.fit.noise_factor == pytest.approx(1, abs=0.03)
    rows = report.projections
    wrong = hs.audit.check(
        run.plan, noise_multiplier=1.15, projections=rows, members=report.members
    )
    assert not wrong.consistent


def test_canaries_change_nothing_else():
    """Gradients have the shapes of the parameters, batches hold examples only; and what refuses."""
    run = run_of(PLANS["poisson"])
    with pytest.raises(PlanMismatch, match="No step"):
        run.audit()
    sizes = []
    train(run, sizes=sizes)
    assert run.taken_steps == 60
    assert max(sizes) < 30
    report = run.audit()
    assert len(report.projections) == 150
    assert report.crowd.size == 50
    with pytest.raises(PlanMismatch, match="canaries"):
        run.state_dict()
    with pytest.raises(PlanMismatch, match="no canaries"):
        run_of(PLANS["poisson"], canaries=None).audit()
    with pytest.raises(InvalidParameter, match="canaries"):
        run_of(PLANS["poisson"], filter=hs.filters.Renyi(epsilon=3.0, delta=1e-5))


@pytest.mark.parametrize("most", [None, 4])
def test_capped_batches_have_one_shape(most):
    """Whatever is drawn; padding adds nothing to the sums."""
    scheme = hs.Poisson(rate=0.1, max_batch_size=10)
    plan = hs.Plan(sampling=scheme, steps=25, examples=EXAMPLES)
    sizes = []
    run = train(run_of(plan, canaries=None, physical_batch_size=most), sizes=sizes)
    assert run.taken_steps == 25
    assert set(sizes) <= ({10} if most is None else {4}) | {0}
    drawn = [batch.size for batch in plan.batches(examples=EXAMPLES, rng=1)]
    assert len(set(drawn)) > 3


def test_padding_adds_nothing():
    """The sum of a step is that of the examples that were drawn, each clipped, without noise."""
    scheme = hs.Poisson(rate=0.1, max_batch_size=10)
    plan = hs.Plan(sampling=scheme, steps=8, examples=EXAMPLES)
    run = run_of(plan, canaries=None, noise=1e-4, clipping="per-sample")
    start = [p.detach().clone() for p in run.model.parameters()]
    data = run.loader.dataset
    criterion = run.loss(torch.nn.CrossEntropyLoss())
    for inputs, labels in run.loader:
        before = [p.detach().clone() for p in run.model.parameters()]
        indices = run._progress.current_batch
        counted = indices.indices[: indices.counted]
        assert len(inputs) in (0, 10)
        total = [torch.zeros_like(p) for p in before]
        twin = torch.nn.Linear(3, 2)
        for i in counted.tolist():
            twin.load_state_dict({"weight": before[0].clone(), "bias": before[1].clone()})
            twin.zero_grad()
            x, y = data[i]
            torch.nn.functional.cross_entropy(twin(x[None]), y[None]).backward()
            norm = torch.sqrt(sum(p.grad.square().sum() for p in twin.parameters()))
            factor = min(1.0, 0.5 / float(norm + 1e-6))
            for t, p in zip(total, twin.parameters(), strict=True):
                t.add_(factor * p.grad)
        run.optimizer.zero_grad()
        criterion(run.model(inputs), labels).backward()
        run.optimizer.step()
        for p, b, t in zip(run.model.parameters(), before, total, strict=True):
            step = (b - p.detach()) / 0.1 * run.expected_batch_size
            np.testing.assert_allclose(step.numpy(), t.numpy(), atol=1e-3)
    assert any(not torch.equal(a, b) for a, b in zip(start, run.model.parameters(), strict=True))
