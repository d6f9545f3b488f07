"""`Plan(adjacency="replace-one")`: brute force on tiny plans, both orders, every scheme."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs

REPLACE = "replace-one"
BSR = hs.strategies.bsr(2, bands=2)
COINS = list(itertools.product((0.0, 1.0), repeat=2))
EACH = [((1.0, 0.0), 0.5), ((0.0, 1.0), 0.5)]


def coins(rate):
    """Independent participation in two steps."""
    return [(x, math.prod(rate if one else 1 - rate for one in x)) for x in COINS]


# Plans of two steps, with the probability of every way to take part, and whether they are exact.
TINY = {
    "full": (hs.Plan(sampling=hs.FullBatch(), steps=2), [((1.0, 1.0), 1.0)], True),
    "full, correlated": (
        hs.Plan(sampling=hs.FullBatch(), steps=2, strategy=BSR),
        [((1.0, 1.0), 1.0)],
        True,
    ),
    "poisson": (hs.Plan(sampling=hs.Poisson(rate=0.3), steps=2), coins(0.3), True),
    "cyclic": (
        hs.Plan(sampling=hs.CyclicPoisson(rate=0.4, groups=2), steps=2, strategy=BSR),
        [((1.0, 0.0), 0.4), ((0.0, 0.0), 0.6)],
        True,
    ),
    "allocation": (hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=2), steps=2), EACH, False),
    "bins": (hs.Plan(sampling=hs.BallsInBins(bins=2), steps=2), EACH, False),
    "bins, correlated": (
        hs.Plan(sampling=hs.BallsInBins(bins=2), steps=2, strategy=BSR),
        EACH,
        False,
    ),
    "min-sep": (
        hs.Plan(
            sampling=hs.MinSep(rate=0.4, separation=2, warm_start=False), steps=2, strategy=BSR
        ),
        [((1.0, 0.0), 0.4), ((0.0, 1.0), 0.24), ((0.0, 0.0), 0.36)],
        False,
    ),
    "stopping": (
        hs.Plan(sampling=hs.Poisson(rate=0.3, max_participations=1), steps=2),
        [((1.0, 0.0), 0.3), ((0.0, 1.0), 0.21), ((0.0, 0.0), 0.49)],
        False,
    ),
}


def divergence(plan, ways, noise, epsilon, *, first, second):
    """H(P || Q) of runs whose gradients are `first` and `second`, by quadrature in the plane."""
    axis = np.linspace(-9, 9, 721)
    x, y = np.meshgrid(axis, axis)
    cell = (axis[1] - axis[0]) ** 2
    matrix = plan.strategy.to_matrix()

    def density(gradient):
        total = np.zeros_like(x)
        for way, weight in ways:
            a, b = matrix @ np.array(way) * gradient
            square = ((x - a) ** 2 + (y - b) ** 2) / (2 * noise**2)
            total += weight * np.exp(-square) / (2 * math.pi * noise**2)
        return total

    return float(np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0).sum() * cell)


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_tiny_plans(name):
    """No two gradients within the clip norm exceed the bound, in either order."""
    plan, ways, exact = TINY[name]
    noise = 1.0
    guarantee = hs.account(replace(plan, adjacency=REPLACE), noise_multiplier=noise)
    assert guarantee.adjacency == REPLACE
    assert guarantee.kind == "proven"
    for epsilon in (0.1, 1.0, 2.5):
        answer = guarantee.answer(epsilon=epsilon)
        pairs = [(1.0, -1.0), (-1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.6, -0.9)]
        found = [divergence(plan, ways, noise, epsilon, first=a, second=b) for a, b in pairs]
        # The quadrature is exact to 1e-3 of these numbers.
        assert max(found) <= answer.value * (1 + 1e-3)
        assert (answer.lower or 0.0) <= max(found) * (1 + 1e-3)
        if exact:
            assert answer.value == pytest.approx(found[0], rel=5e-3)


@pytest.mark.slow
def test_never_below_add_remove():
    """For every scheme, at several deltas, and at most twice the loss of a chain of equals."""
    for plan, _, _ in TINY.values():
        one = hs.account(plan, noise_multiplier=1.5)
        other = hs.account(replace(plan, adjacency=REPLACE), noise_multiplier=1.5)
        for delta in (1e-3, 1e-6):
            epsilon = one.epsilon(delta)
            assert other.epsilon(delta) >= epsilon * (1 - 1e-3)
            worse = delta * (1 + math.exp(epsilon))
            assert other.epsilon(min(worse, 0.99)) <= 2 * epsilon * (1 + 1e-2)


def test_full_batches_have_twice_the_sensitivity():
    """Replacing at noise s is adding at noise s/2."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=10)
    twice = hs.account(replace(plan, adjacency=REPLACE), noise_multiplier=2.0)
    once = hs.account(plan, noise_multiplier=1.0)
    assert twice.epsilon(1e-5) == pytest.approx(once.epsilon(1e-5), rel=1e-9)


def test_what_is_for_added_examples_is_refused():
    """Draws, filters, baselines and other analyses say that they are for add-remove."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5, adjacency=REPLACE)
    assert set(hs.methods(plan)) == {"gaussian", "profile", "chain"}
    with pytest.raises(hs.errors.UnsupportedPlan, match="add-remove"):
        hs.account(plan, noise_multiplier=1.0, method="renyi")
    with pytest.raises(hs.errors.UnsupportedPlan):
        hs.verify(plan, noise_multiplier=1.0, epsilon=5.0, delta=1e-5)
    with pytest.raises(hs.errors.UnsupportedPlan, match="add-remove"):
        hs.training.rate_for_filters(plan)
    with pytest.raises(hs.errors.InvalidParameter, match="adjacency"):
        hs.Plan(sampling=hs.FullBatch(), steps=1, adjacency="swap")
    for baseline in hs.baselines.BASELINES.values():
        assert "add-remove" in baseline.objection(plan)


def test_guarantees_of_different_relations_do_not_compose():
    """And those of one relation keep it."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    one = hs.account(plan, noise_multiplier=1.0)
    other = hs.account(replace(plan, adjacency=REPLACE), noise_multiplier=1.0)
    with pytest.raises(hs.errors.InvalidParameter, match="adjacency"):
        one.compose(other)
    assert other.compose(other).adjacency == REPLACE
    assert hs.tuning.RandomRuns(mean=3).guarantee(other).adjacency == REPLACE


def test_calibration_and_statements_keep_the_relation():
    """Noise for replaced examples, a run with it, its statement, and what verifies it."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=6, adjacency=REPLACE)
    found = hs.calibrate(plan, epsilon=2.0, delta=1e-5)
    usual = hs.calibrate(replace(plan, adjacency="add-remove"), epsilon=2.0, delta=1e-5)
    assert found.noise_multiplier > usual.noise_multiplier
    run = hs.training.PrivateRun(
        plan,
        examples=30,
        dimension=2,
        noise_multiplier=found.noise_multiplier,
        max_grad_norm=1.0,
    )
    for _ in range(6):
        run.step(lambda batch: np.ones((batch.size, 2)))
    statement = run.statement(delta=1e-5)
    assert (statement.adjacency, statement.plan.adjacency) == (REPLACE, REPLACE)
    assert statement.epsilon <= 2.0
    assert hs.training.check_statement(statement).holds
    weaker = hs.training.PrivateRun(
        replace(plan, adjacency="add-remove"),
        examples=30,
        dimension=2,
        noise_multiplier=found.noise_multiplier,
        max_grad_norm=1.0,
    ).statement(delta=1e-5)
    assert hs.training.check_statement(weaker).holds
    assert not hs.training.check_statement(replace(weaker, adjacency=REPLACE)).holds
