"""Logical batches, physical batches, empty batches."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch import Collate

SCHEMES = [
    hs.FullBatch(),
    hs.Poisson(rate=0.15),
    hs.CyclicPoisson(rate=0.5, groups=4),
    hs.BallsInBins(bins=8),
    hs.RandomAllocation(picks=1, out_of=8),
    hs.MinSep(rate=0.3, separation=4),
]


def batch_seed(seed: int) -> np.random.SeedSequence:
    """Batches have the first child of the seed, noise the second."""
    return np.random.SeedSequence(seed, spawn_key=(0,))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("most", [None, 3])
def test_every_scheme_runs_its_own_batches(runs, scheme, most):
    """What the loop sees, put together by steps, are the plan's batches; nothing is larger."""
    plan = runs.banded(sampling=scheme)
    run = runs.private(plan, physical_batch_size=most, rng=6)
    assert run.expected_batch_size == scheme.expected_batch_size(runs.EXAMPLES)
    seen = [[] for _ in range(plan.steps)]
    for points, numbers in run.loader:
        seen[run.taken_steps] += numbers.tolist()
        assert most is None or len(numbers) <= most
        run.loss(runs.LinearLoss())(run.model(points)).backward()
        run.optimizer.step()
    wanted = plan.batches(examples=runs.EXAMPLES, rng=batch_seed(6))
    assert seen == [batch.tolist() for batch in wanted]


@pytest.mark.parametrize("scheme", [hs.UserMinSep, hs.ConjecturedUserMinSep])
def test_users_with_several_examples(runs, scheme):
    """The graph decides the batches and the expected size; without it the run is refused."""
    examples = np.arange(runs.EXAMPLES)
    graph = hs.Attribution.from_pairs(
        examples=examples,
        users=examples // 2,
        number_of_examples=runs.EXAMPLES,
        number_of_users=runs.EXAMPLES // 2,
    )
    plan = runs.banded(sampling=scheme(rate=0.1, separation=4, examples_per_user=2))
    run = runs.private(plan, attribution=graph, rng=6)
    batches, _ = runs.train(run)
    wanted = plan.batches(examples=graph, rng=batch_seed(6))
    assert batches == [batch.tolist() for batch in wanted]
    assert run.expected_batch_size == plan.sampling.expected_batch_size(graph)
    assert run.record().plan.sampling.unit == "user"
    for wrong in (None, hs.Attribution.one_user_each(runs.EXAMPLES + 1)):
        with pytest.raises(InvalidParameter, match="attribution"):
            runs.private(plan, attribution=wrong)


def test_micro_batches_change_nothing(runs):
    """The same weights after each logical step, up to rounding."""
    whole = runs.private(runs.banded())
    parts = runs.private(runs.banded(), physical_batch_size=1)
    runs.train(whole)
    runs.train(parts)
    assert torch.allclose(runs.weights(whole), runs.weights(parts), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:reduction='sum'")
@pytest.mark.parametrize("reduction", ["none", "sum"])
@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_the_reduction_of_a_criterion_does_not_matter(runs, clipping, reduction):
    """Gradients are of single examples, and the scale is the expected size."""
    mean, other = (runs.private(runs.banded(), clipping=clipping) for _ in range(2))
    runs.train(mean)
    criterion = runs.LinearLoss()
    criterion.reduction = reduction
    for points, _ in other.loader:
        other.loss(criterion)(other.model(points)).backward()
        other.optimizer.step()
    assert torch.equal(runs.weights(mean), runs.weights(other))


def test_gradients_that_are_not_finite_contribute_nothing(runs):
    """One broken example does not reach the sum; the others do."""
    points, numbers = runs.data().tensors
    broken = points.clone()
    broken[7] = float("inf")
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = runs.private(plan, dataset=torch.utils.data.TensorDataset(broken, numbers))
    other = runs.private(plan)
    updates = []
    for mine, theirs in ((run, runs.weights(run)), (other, runs.weights(other))):
        _, path = runs.train(mine, until=1)
        updates.append((path[0] - theirs) * -40.0)
    left_out = runs.clipped_sum(points[7:8])
    assert torch.allclose(updates[0] + left_out, updates[1], rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_workers_that_draw_in_advance(runs):
    """They are ahead of the loop, and a state that is saved meanwhile is not."""
    alone = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded(), loader_options={"num_workers": 1, "prefetch_factor": 4})
    first = runs.train(run, until=5)
    other = runs.private(runs.banded(), rng=2)
    other.load_state_dict(run.state_dict())
    rest = runs.train(other)
    assert first[0] + rest[0] == alone[0]
    assert torch.equal(rest[1][-1], alone[1][-1])


def test_empty_batches_have_the_structure_of_others():
    """Tensors in mappings, tuples and named tuples, and one text for each example."""
    Pair = namedtuple("Pair", "left right")
    example = {"x": torch.ones(3), "y": Pair(torch.tensor(1), torch.ones(2, 2)), "name": "a"}
    empty = Collate([example])([])
    assert empty["x"].shape == (0, 3)
    assert isinstance(empty["y"], Pair)
    assert (empty["y"].left.shape, empty["y"].right.shape) == ((0,), (0, 2, 2))
    assert empty["name"] == []


def test_schedulers_of_pytorch_work(runs):
    """Learning rates may change: that is after the noise."""
    run = runs.private(runs.banded(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(run.optimizer, step_size=4)
    for points, _ in run.loader:
        run.loss(runs.LinearLoss())(run.model(points)).backward()
        run.optimizer.step()
        scheduler.step()
    assert run.optimizer.param_groups[0]["lr"] == pytest.approx(0.5e-4)


@pytest.mark.slow
def test_the_statement_is_about_the_planned_steps(runs):
    """Stopping early buys nothing; versions and the seed are in the record."""
    run = runs.private(runs.banded())
    runs.train(run, until=3)
    record, stated = run.record(), run.statement(delta=1e-5)
    assert (record.taken_steps, record.planned_steps, record.seeded) == (3, 16, True)
    assert {"torch", "opacus", "numpy", "hockeystick"} == set(record.versions)
    guarantee = hs.account(run.record().plan, noise_multiplier=runs.NOISE)
    assert stated.epsilon == guarantee.epsilon(delta=1e-5)
    assert run.stopped_by is None


@pytest.mark.slow
def test_an_abandoned_pass_takes_nothing_from_the_next(runs):
    """Persistent workers have one queue for all passes: every step has its own batch all the same.

    Batches of fixed groups are all of the same size, so that their number shows nothing.
    """
    plan = runs.banded(sampling=hs.CyclicPoisson(rate=1.0, groups=4))
    options = {"num_workers": 1, "persistent_workers": True, "multiprocessing_context": "fork"}
    run = runs.private(plan, rng=6, loader_options=options)
    seen = []

    def take(batch):
        seen.append(batch[1].tolist())
        run.loss(runs.LinearLoss())(run.model(batch[0])).backward()
        run.optimizer.step()

    first = iter(run.loader)
    take(next(first))
    second = iter(run.loader)
    take(next(second))
    with pytest.raises(PlanMismatch, match="no longer the run's"):
        next(first)
    for batch in second:
        take(batch)
    wanted = plan.batches(examples=runs.EXAMPLES, rng=batch_seed(6))
    assert seen == [batch.tolist() for batch in wanted]
