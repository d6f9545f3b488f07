"""Checkpoints that are fixed in advance: the plan of the first steps."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.strategies.matrix import leading_block
from hockeystick.training import PrivateRun, RunRecord, check_statement, statement

STEPS = 12
SCHEMES = {
    "full": hs.FullBatch(),
    "poisson": hs.Poisson(rate=0.3),
    "stopping": hs.Poisson(rate=0.5, max_participations=2),
    "cyclic": hs.CyclicPoisson(rate=0.5, groups=3),
    "secret groups": hs.CyclicPoisson(rate=0.5, groups=3, random_phase=True),
    "bins": hs.BallsInBins(bins=4),
    "allocation": hs.RandomAllocation(picks=1, out_of=4),
    "several picks": hs.RandomAllocation(picks=2, out_of=6),
    "min-sep": hs.MinSep(rate=0.4, separation=3),
    "cold": hs.MinSep(rate=0.4, separation=3, warm_start=False),
    "users": hs.UserMinSep(rate=0.3, separation=2, examples_per_user=2),
}
STRATEGIES = {
    "identity": hs.strategies.identity(STEPS),
    "bsr": hs.strategies.bsr(STEPS, bands=4),
    "bisr": hs.strategies.bisr(STEPS, bands=3),
    "lambda": hs.strategies.lambda_cgd(STEPS, decay=0.7),
    "band-mf": hs.strategies.band_mf(STEPS, bands=3),
    "band-inv-mf": hs.strategies.band_inv_mf(STEPS, bands=3),
    "blt": hs.strategies.blt(STEPS, buffers=2),
    "matrix": hs.strategies.from_matrix(
        np.tril(np.random.default_rng(3).uniform(size=(STEPS, STEPS))) + np.eye(STEPS)
    ),
}


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("steps", [1, 2, 5, STEPS])
def test_the_leading_block(name, steps):
    """Entries, inverse, column norms, and the first rows of the noise of the whole run."""
    whole = STRATEGIES[name]
    block = leading_block(whole, steps)
    wanted = whole.to_matrix()[:steps, :steps]
    assert np.array_equal(block.to_matrix(), wanted)
    assert np.allclose(block.inverse_matrix(), np.linalg.inv(wanted), rtol=1e-9, atol=1e-12)
    assert np.allclose(block.column_norms, np.linalg.norm(wanted, axis=0))
    columns = range(0, steps, 2)
    exact = np.linalg.norm(sum(wanted[:, i] for i in columns))
    assert block.sensitivity(separation=2) >= exact * (1 - 1e-12)
    noise = [s.noise(3, scale=1.0, dtype=np.float64, rng=5) for s in (whole, block)]
    for first, second in zip(*noise, strict=False):
        assert np.allclose(first, second, rtol=1e-9, atol=1e-12)
    record = RunRecord(
        plan=hs.Plan(sampling=hs.FullBatch(), steps=steps, strategy=block),
        noise_multiplier=9.0,
        max_grad_norm=1.0,
        taken_steps=0,
    )
    assert check_statement(statement(record, delta=1e-5)).holds


@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "users"])
@pytest.mark.parametrize("steps", [3, 5])
def test_the_batches_of_a_prefix_are_the_first_ones(name, steps):
    """How often an example joins which of the first steps, among 4,000 of them."""
    plan = hs.Plan(sampling=SCHEMES[name], steps=STEPS)
    found = []
    for one, seed in ((plan, 1), (plan.prefix(steps), 2)):
        joined = np.zeros((4000, steps), dtype=int)
        for step, batch in zip(range(steps), one.batches(examples=4000, rng=seed), strict=False):
            joined[batch, step] = 1
        found.append(Counter(map(tuple, joined.tolist())))
    for pattern in found[0] | found[1]:
        a, b = found[0][pattern], found[1][pattern]
        # Five standard deviations of a difference of two counts.
        assert abs(a - b) <= 5 * np.sqrt(a + b), pattern


# Seconds each: they are the same claim.
EXPENSIVE = {
    *(("min-sep", None), ("cold", None), ("min-sep", "bsr")),
    *(("cold", "bsr"), ("allocation", "bsr"), ("bins", "bsr")),
}
GROWING = [
    pytest.param(*pair, marks=[pytest.mark.long] if pair in EXPENSIVE else [])
    for pair in ((name, strategy) for name in SCHEMES for strategy in (None, "bsr"))
]


@pytest.mark.parametrize(("name", "strategy"), GROWING)
def test_epsilon_grows_with_the_steps(name, strategy):
    """Up to that of the whole plan, which the last prefix is."""
    plan = hs.Plan(
        sampling=SCHEMES[name],
        steps=STEPS,
        strategy=None if strategy is None else STRATEGIES[strategy],
    )
    found = hs.account_prefixes(plan, [2, 7, STEPS], noise_multiplier=3.0)
    epsilons = [one.epsilon(1e-5) for one in found.values()]
    assert epsilons[0] <= epsilons[1] * (1 + 1e-3)
    assert epsilons[1] <= epsilons[2] * (1 + 1e-3)
    assert epsilons[2] == hs.account(plan, noise_multiplier=3.0).epsilon(1e-5)
    assert plan.prefix(STEPS) is plan
    assert {one.kind for one in found.values()} <= {"proven"}


def test_two_of_three_steps_by_integration():
    """One pick out of three, seen after two steps: a third of the weight has not taken part."""
    noise, epsilon = 0.8, 0.7
    axis = np.linspace(-8.0, 9.0, 1201) * noise
    x, y = np.meshgrid(axis, axis)
    base = np.exp(-(x**2 + y**2) / (2 * noise**2)) / (2 * np.pi * noise**2)
    ratio = (1 + np.exp((2 * x - 1) / (2 * noise**2)) + np.exp((2 * y - 1) / (2 * noise**2))) / 3
    cell = (axis[1] - axis[0]) ** 2
    remove = np.sum(np.maximum(ratio - np.exp(epsilon), 0) * base) * cell
    add = np.sum(np.maximum(1 - np.exp(epsilon) * ratio, 0) * base) * cell
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=3), steps=3).prefix(2)
    assert plan.sampling.truncate
    for direction, exact in (("remove", remove), ("add", add)):
        found = hs.account(plan, noise_multiplier=noise, direction=direction).delta(epsilon)
        assert exact * (1 - 1e-3) <= found <= exact * (1 + 1e-2)
    # In the same way a bin of three after one step is a Poisson sample.
    first = hs.Plan(sampling=hs.BallsInBins(bins=3), steps=3).prefix(1)
    sampled = hs.Plan(sampling=hs.Poisson(rate=1 / 3), steps=1)
    epsilons = [hs.account(p, noise_multiplier=noise).epsilon(1e-3) for p in (first, sampled)]
    assert epsilons[0] == pytest.approx(epsilons[1], rel=2e-3)


def test_the_statement_of_a_checkpoint():
    """Epsilon of the first steps; only at the number that was fixed, and not with a filter."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=12, strategy=STRATEGIES["bsr"])
    options = {"examples": 20, "dimension": 1, "noise_multiplier": 3.0, "max_grad_norm": 1.0}
    run = PrivateRun(plan, **options)
    for _ in range(5):
        run.step(lambda batch: np.ones((batch.size, 1)))
    stated = run.statement(delta=1e-5, checkpoint=5)
    assert (stated.planned_steps, stated.taken_steps, stated.whole_steps) == (5, 5, 12)
    assert stated.epsilon == hs.account(plan.prefix(5), noise_multiplier=3.0).epsilon(1e-5)
    assert stated.epsilon < run.statement(delta=1e-5).epsilon
    assert check_statement(hs.training.Statement.from_json(stated.to_json())).holds
    assert "after 5 of 12 planned steps" in stated.paragraph()
    with pytest.raises(InvalidParameter, match="checkpoint"):
        run.statement(delta=1e-5, checkpoint=4)
    filtered = PrivateRun(
        hs.Plan(sampling=hs.Poisson(rate=0.5), steps=3),
        filter=hs.filters.Gaussian(mu=1.0),
        **options,
    )
    filtered.step(lambda batch: np.ones((batch.size, 1)))
    with pytest.raises(InvalidParameter, match="filter"):
        filtered.statement(delta=1e-5, checkpoint=1)


def test_what_has_no_prefix():
    """More steps than there are; schemes that do not say what their first steps are."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=3)
    for steps in (0, 4, 1.5, True):
        with pytest.raises(InvalidParameter, match="steps"):
            plan.prefix(steps)
    with pytest.raises(UnsupportedPlan, match="first 2 steps"):
        hs.Plan(sampling=hs.Shuffle(batch_size=3), steps=3).prefix(2)
