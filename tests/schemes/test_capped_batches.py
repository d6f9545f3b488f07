"""Poisson(max_batch_size=B): of more than B drawn examples B are kept, uniformly at random."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.schemes.batches import chance_of_full

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""


def batch_law(examples, rate, cap):
    """The probability of every batch, by enumeration of who is drawn and who is kept."""
    law = Counter()
    for coins in itertools.product((0, 1), repeat=examples):
        weight = math.prod(rate if coin else 1 - rate for coin in coins)
        drawn = [i for i, coin in enumerate(coins) if coin]
        kept = [tuple(drawn)] if len(drawn) <= cap else [*itertools.combinations(drawn, cap)]
        for batch in kept:
            law[batch] += weight / len(kept)
    return law


def density(gradients, rate, cap, noise, outputs):
    """Of the noisy sum in a step, over the enumerated batches."""
    total = np.zeros_like(outputs)
    for batch, weight in batch_law(len(gradients), rate, cap).items():
        mean = sum(gradients[i] for i in batch)
        total += weight * np.exp(-((outputs - mean) ** 2) / (2 * noise**2))
    return total / (math.sqrt(2 * math.pi) * noise)


def divergence(first, second, epsilon, width):
    """The larger of both orders."""
    g = math.exp(epsilon)
    pairs = (first, second), (second, first)
    return max(float(np.maximum(p - g * q, 0).sum()) * width for p, q in pairs)


@pytest.mark.parametrize(("rate", "cap"), [(0.3, 2), (0.8, 1), (0.8, 3), (1.0, 2)])
def test_batches_have_the_law_of_dropping_at_random(rate, cap):
    """All batches of four examples, with the frequencies of the enumeration."""
    scheme = hs.Poisson(rate=rate, max_batch_size=cap)
    found = Counter(tuple(b.tolist()) for b in scheme.batches(examples=4, steps=8_000, rng=1))
    law = batch_law(4, rate, cap)
    law = {batch: weight for batch, weight in law.items() if weight > 0}
    assert set(found) <= set(law)
    expected = np.array([8_000 * law[batch] for batch in law])
    observed = np.array([found[batch] for batch in law])
    assert stats.chisquare(observed, expected).pvalue > ALARM
    mean = sum(len(batch) * weight for batch, weight in law.items())
    assert scheme.expected_batch_size(4) == pytest.approx(mean, rel=1e-12)


@pytest.mark.slow
def test_one_step_never_exceeds_the_bound():
    """Examples that are removed, silenced or replaced, beside all kinds of others, both orders."""
    rng, tried = np.random.default_rng(0), 0
    for examples, cap, rate, noise in itertools.product(
        (2, 4), (1, 2, 3), (0.2, 0.6, 1.0), (0.7, 1.5)
    ):
        outputs = np.linspace(-examples - 8 * noise, examples + 8 * noise, 1_501)
        width = outputs[1] - outputs[0]
        plan = hs.Plan(
            sampling=hs.Poisson(rate=rate, max_batch_size=cap), steps=1, examples=examples
        )
        bounds = {
            relation: hs.account(replace(plan, adjacency=relation), noise_multiplier=noise)
            for relation in ("add-remove", "replace-one")
        }
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            limits = {name: one.delta(epsilon) for name, one in bounds.items()}
            for others in ([-1.0], [0.0], [1.0], [-1.0, 1.0], rng.uniform(-1, 1, 4)):
                rest = list(itertools.islice(itertools.cycle(others), examples - 1))
                law = {g: density([g, *rest], rate, cap, noise, outputs) for g in (1.0, 0.0, -1.0)}
                gone = density(rest, rate, cap, noise, outputs)
                for other, relation in (
                    (gone, "add-remove"),
                    (law[0.0], "add-remove"),
                    (law[0.0], "replace-one"),
                    (law[-1.0], "replace-one"),
                ):
                    found = divergence(law[1.0], other, epsilon, width)
                    assert found <= limits[relation] * (1 + 1e-4) + 1e-9
                    tried += 1
    assert tried > 2_000


def test_a_displaced_example_leaks_more_than_poisson_sampling():
    """Where batches are always full, the formula without a cap claims too little."""
    noise, outputs = 1.0, np.linspace(-12, 12, 4_001)
    with_it = density([1.0, -1.0, -1.0], 0.9, 1, noise, outputs)
    without = density([-1.0, -1.0], 0.9, 1, noise, outputs)
    found = divergence(with_it, without, 1.0, outputs[1] - outputs[0])
    uncapped = hs.account(hs.Plan(sampling=hs.Poisson(rate=0.333), steps=1), noise_multiplier=noise)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.9, max_batch_size=1), steps=1, examples=3)
    assert found > 2 * uncapped.delta(1.0)
    assert found <= hs.account(plan, noise_multiplier=noise).delta(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_chosen_cap_costs_less_than_a_hundredth_of_delta(adjacency):
    """At every epsilon, beside the same run without a cap; and lower bounds stay below."""
    scheme = hs.Poisson.for_batch_size(50, examples=5_000, steps=100, delta=1e-5)
    assert 50 < scheme.max_batch_size < 110
    free = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100, adjacency=adjacency)
    capped = replace(free, sampling=scheme, examples=5_000)
    for noise in (0.8,):
        usual = hs.account(free, noise_multiplier=noise, accuracy=5e-4)
        found = hs.account(capped, noise_multiplier=noise, accuracy=5e-4)
        epsilon = usual.epsilon(1e-5)
        assert found.delta(epsilon) <= 1.01e-5
        answer = found.answer(delta=1e-5)
        assert answer.lower <= answer.value
        assert answer.lower == pytest.approx(answer.value, rel=1e-2)


def test_smaller_caps_cost_more():
    """And the smallest cap that is chosen is the smallest that fits."""
    scheme = hs.Poisson.for_batch_size(20, examples=1_000, steps=10, delta=1e-4)
    tail = stats.binom.sf(scheme.max_batch_size - 1, 1_000, 0.02)
    assert 10 * tail <= 1e-6 < 10 * stats.binom.sf(scheme.max_batch_size - 2, 1_000, 0.02)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=10)
    epsilons = [
        hs.account(
            replace(plan, sampling=hs.Poisson(rate=0.02, max_batch_size=cap), examples=1_000),
            noise_multiplier=1.0,
        ).epsilon(1e-5)
        for cap in (20, 25, 30, 40, 60)
    ]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[-1] == pytest.approx(
        hs.account(plan, noise_multiplier=1.0).epsilon(1e-5), rel=1e-3
    )


def test_what_a_cap_excludes():
    """The number of examples is needed and kept, and what is for independent examples refuses."""
    scheme = hs.Poisson(rate=0.5, max_batch_size=3)
    plan = hs.Plan(sampling=scheme, steps=4, examples=6)
    assert plan.describe()["examples"] == 6
    with pytest.raises(InvalidParameter, match="accounted"):
        plan.batches(examples=7)
    unknown = replace(plan, examples=None)
    assert set(hs.methods(unknown)) == {"gaussian"}
    with pytest.raises(UnsupportedPlan, match="examples"):
        hs.account(unknown, noise_multiplier=1.0, method="profile")
    with pytest.raises(UnsupportedPlan):
        hs.verify(plan, noise_multiplier=1.0, epsilon=5.0, delta=1e-5)
    with pytest.raises(UnsupportedPlan):
        hs.training.rate_for_filters(plan)
    with pytest.raises(UnsupportedPlan, match="cap"):
        hs.audit.check(
            plan, noise_multiplier=1.0, projections=np.zeros((100, 4)), members=np.ones(100, bool)
        )
    with pytest.raises(InvalidParameter, match="max_batch_size"):
        hs.Poisson(rate=0.5, max_batch_size=3, max_participations=2)
    with pytest.raises(InvalidParameter, match="delta"):
        hs.Poisson.for_batch_size(5, examples=10, steps=4)
    with pytest.raises(InvalidParameter, match="max_batch_size"):
        hs.Poisson.for_batch_size(5, examples=10, steps=4, delta=1e-5, max_batch_size=7)
    for bad in (0, 1.5, math.nan, -3):
        with pytest.raises(InvalidParameter):
            hs.Poisson(rate=0.5, max_batch_size=bad)
    assert all(hs.baselines.BASELINES[name].objection(plan) for name in hs.baselines.BASELINES)


def test_known_participation_counts_twice():
    """With correlated noise only the bound without amplification is left, at twice the length."""
    strategy = hs.strategies.bsr(4, bands=2)
    plan = hs.Plan(
        sampling=hs.Poisson(rate=0.5, max_batch_size=3), steps=4, strategy=strategy, examples=6
    )
    assert set(hs.methods(plan)) == {"gaussian"}
    free = replace(plan, sampling=hs.Poisson(rate=0.5))
    capped = hs.account(plan, noise_multiplier=4.0, method="gaussian").epsilon(1e-5)
    usual = hs.account(free, noise_multiplier=2.0, method="gaussian").epsilon(1e-5)
    assert capped == pytest.approx(usual, rel=1e-9)


def test_runs_and_statements():
    """A run draws the capped batches; its statement is recomputed from its own file."""
    scheme = hs.Poisson.for_batch_size(5, examples=50, steps=6, delta=1e-5)
    plan = hs.Plan(sampling=scheme, steps=6, examples=50)
    found = hs.calibrate(plan, epsilon=3.0, delta=1e-5)
    run = hs.training.PrivateRun(
        plan,
        examples=50,
        dimension=2,
        noise_multiplier=found.noise_multiplier,
        max_grad_norm=1.0,
    )
    for _ in range(6):
        run.step(lambda batch: np.ones((batch.size, 2)))
    statement = run.statement(delta=1e-5)
    assert statement.epsilon <= 3.0
    again = hs.training.Statement.from_json(statement.to_json())
    assert again.plan == plan
    assert hs.training.check_statement(again).holds
    with pytest.raises(InvalidParameter, match="examples"):
        hs.training.PrivateRun(
            plan, examples=60, dimension=2, noise_multiplier=9.0, max_grad_norm=1.0
        )


@pytest.mark.slow
def test_fixed_sizes_without_replacement():
    """Replacing one example: the larger of both orders composes (docs/guarantees.md)."""
    noise, outputs = 1.0, np.linspace(-11, 11, 221)
    cell = (outputs[1] - outputs[0]) ** 2

    def density(gradients, size):
        batches = list(itertools.combinations(gradients, size))
        total = sum(np.exp(-((outputs - sum(b)) ** 2) / (2 * noise**2)) for b in batches)
        return total / len(batches) / (math.sqrt(2 * math.pi) * noise)

    for most, size in ((2, 1), (3, 1), (3, 2), (4, 3)):
        step = hs.Profile.gaussian(noise_multiplier=noise / 2).subsample(size / most).symmetrize()
        once, twice = step, step.self_compose(2)
        steps = []
        for other in ([-1.0] * (most - 1), [1.0] * (most - 1), [1.0, -1.0, 0.0][: most - 1]):
            for g, h in ((1.0, -1.0), (1.0, 0.0), (-1.0, 1.0)):
                steps.append((density([g, *other], size), density([h, *other], size)))
        for epsilon in (0.0, 0.4, 1.2):
            single, double = once.delta(epsilon), twice.delta(epsilon)
            for p, q in steps:
                width = outputs[1] - outputs[0]
                assert divergence(p, q, epsilon, width) <= single * (1 + 2e-3)
            # The second step may be another one, also one that turns the order around.
            for (p, q), (r, s) in itertools.product(steps, steps):
                found = divergence(np.outer(p, r), np.outer(q, s), epsilon, cell)
                assert found <= double * (1 + 5e-3)


def test_a_chance_that_underflows_is_rounded_up():
    """Only a cap that cannot be reached has no chance of a full batch."""
    assert chance_of_full(100_000, 1e-3, 50_000) >= 1e-300
    assert chance_of_full(99, 0.5, 100) == 0
