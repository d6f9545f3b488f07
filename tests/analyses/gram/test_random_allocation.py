"""`gram` for one fresh pick in every block with correlated noise, and groups in balls-in-bins."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.gram.search import SETTINGS
from references.allocated_runs import (
    block_losses,
    delta_seen,
    several_bins,
    trajectories,
    trajectory_losses,
)

pytestmark = pytest.mark.slow

DRAWS = 20_000
EPSILONS = (0.0, 0.3, 1.0)
# Standard errors that a sound bound may be below what was seen.
CHANCE = 5.0
STRATEGIES = {
    "two blocks": (hs.strategies.bsr(6, 2), 3),
    "three blocks": (hs.strategies.bsr(9, 3), 3),
    "five blocks": (hs.strategies.bsr(10, 2), 2),
    "more bands than a block": (hs.strategies.bsr(8, 6), 2),
    "rising": (hs.strategies.from_coefficients([1.0, 0.2, 0.8], steps=6), 3),
    "dense": (hs.strategies.from_matrix(np.tril(np.arange(1.0, 37.0).reshape(6, 6))), 3),
    "part of a block": (hs.strategies.bsr(7, 3), 3),
    "one part": (hs.strategies.bsr(3, 2), 5),
}


def plan_of(strategy, out_of, *, picks=1):
    """The strategy's steps with picks in every block."""
    sampling = hs.RandomAllocation(picks=picks, out_of=out_of, truncate=True)
    return hs.Plan(sampling=sampling, steps=strategy.steps, strategy=strategy)


def kernel_of(strategy, noise):
    """Inner products of the columns, over the variance."""
    return strategy.gram(spacing=strategy.steps) / noise**2


def noise_of(strategy, factor=1.5):
    """A multiple of the longest column."""
    return factor * float(strategy.column_norms.max())


def gram_of(plan, noise, *, direction="both", budget=3e4):
    """The guarantee of the method."""
    return hs.account(
        plan, noise_multiplier=noise, method="gram", direction=direction, budget=budget
    )


def assert_not_below(bound, losses, *, present):
    """At every epsilon; something is seen at the first."""
    assert delta_seen(losses, EPSILONS[0], present=present)[0] > 0
    for epsilon in EPSILONS:
        mean, error = delta_seen(losses, epsilon, present=present)
        assert bound.delta(epsilon) >= mean - CHANCE * error


def assert_not_above(bound, losses, *, present):
    """At every epsilon; of a bound for more noise than was simulated."""
    for epsilon in EPSILONS:
        mean, error = delta_seen(losses, epsilon, present=present)
        assert bound.delta(epsilon) <= mean + CHANCE * error


def assert_sound(plan, noise, *, seed):
    """Both directions of one claim against all trajectories."""
    claim = gram_of(plan, noise)
    kernel = kernel_of(plan.strategy, noise)
    rows = trajectories(plan.steps, plan.sampling.out_of)
    for present, direction in ((True, "remove"), (False, "add")):
        losses = trajectory_losses(kernel, rows, present=present, draws=DRAWS, seed=seed)
        assert_not_below(replace(claim, directions=(direction,)), losses, present=present)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_against_all_trajectories(name):
    """Small plans, coarse budget, both directions: no delta is below a simulated one."""
    strategy, out_of = STRATEGIES[name]
    assert_sound(plan_of(strategy, out_of), noise_of(strategy), seed=1)


@pytest.mark.slow
def test_random_strategies():
    """Dense and banded matrices, blocks of 2 to 4 steps, any noise."""
    rng = np.random.default_rng(4)
    for case in range(3):
        out_of, blocks = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        steps = out_of * blocks - int(rng.integers(2))
        matrix = np.eye(steps) + np.tril(rng.exponential(size=(steps, steps)), -1)
        far = np.subtract.outer(np.arange(steps), np.arange(steps)) > rng.integers(1, steps)
        strategy = hs.strategies.from_matrix(np.where(far, 0.0, matrix))
        noise = noise_of(strategy, factor=float(rng.uniform(0.7, 3.0)))
        assert_sound(plan_of(strategy, out_of), noise, seed=case)


def test_the_reference_by_blocks_is_the_sum_over_trajectories():
    """Two ways to compute the same likelihood ratios."""
    kernel = kernel_of(hs.strategies.bsr(9, 3), 2.0)
    settings = {"present": False, "draws": 50, "seed": 3}
    by_blocks = block_losses(kernel, 3, **settings)
    root = np.linalg.cholesky(kernel)
    z = np.random.default_rng(3).standard_normal((50, 9))
    rows = trajectories(9, 3)
    exponents = np.concatenate((z, -z)) @ root.T @ rows.T
    exponents = exponents - np.einsum("xi,ij,xj->x", rows, kernel, rows) / 2
    assert np.allclose(by_blocks, np.log(np.exp(exponents).mean(axis=1)), rtol=1e-9)


@pytest.mark.slow
def test_a_medium_plan_is_close():
    """Five blocks of 20 steps: above what is simulated, below it with a tenth more noise."""
    strategy, noise = hs.strategies.bsr(100, 4), 2.0
    plan, kernel = plan_of(strategy, 20), kernel_of(strategy, noise)
    claims = [gram_of(plan, factor * noise, budget=1e7) for factor in (1.0, 1.1)]
    for present, direction in ((True, "remove"), (False, "add")):
        losses = block_losses(kernel, 20, present=present, draws=DRAWS, seed=2)
        bound, further = (replace(claim, directions=(direction,)) for claim in claims)
        assert_not_below(bound, losses, present=present)
        assert_not_above(further, losses, present=present)


@pytest.mark.slow
def test_far_less_noise_than_with_revealed_steps():
    """The only other proven method there is `gaussian`."""
    plan = plan_of(hs.strategies.bsr(60, 3), 20)
    proven = {name for name, kind in hs.methods(plan).items() if kind == "proven"}
    assert proven == {"gaussian", "gram"}
    revealed = hs.account(plan, noise_multiplier=2.0, method="gaussian").epsilon(1e-5)
    answer = hs.account(plan, noise_multiplier=2.0, budget=1e6).answer(delta=1e-5)
    assert answer.method == "gram"
    assert answer.value < 0.5 * revealed


@pytest.mark.parametrize("out_of", [8, 11])
@pytest.mark.parametrize("query", [{"delta": 1e-4}, {"epsilon": 0.2}])
def test_a_single_block_is_a_mixture_over_bins(out_of, query):
    """The same number as balls-in-bins with one epoch, whole or not, and the same lower bound."""
    strategy = hs.strategies.bsr(8, 3)
    bins = hs.Plan(sampling=hs.BallsInBins(bins=out_of), steps=8, strategy=strategy)
    one, other = (
        gram_of(plan, 3.0, budget=1e3).answer(**query) for plan in (plan_of(strategy, out_of), bins)
    )
    assert one == other


@pytest.mark.slow
def test_more_noise_is_more_private():
    """Epsilon decreases, also where a revealed step decides."""
    strategy = hs.strategies.bsr(12, 3)
    found = [gram_of(plan_of(strategy, 4), noise).epsilon(1e-5) for noise in (0.05, 0.7, 3.0)]
    assert all(more > less for more, less in itertools.pairwise(found))


@pytest.mark.slow
def test_blocks_without_anything_in_common():
    """A strategy that starts anew in every block: the composition of single blocks."""
    single = hs.strategies.bsr(5, 3)
    matrix = np.kron(np.eye(3), single.to_matrix())
    plan = plan_of(hs.strategies.from_matrix(matrix), 5)
    whole = gram_of(plan, 3.0, budget=3e4 / SETTINGS.block_work)
    part = gram_of(plan_of(single, 5), 3.0, budget=3e4)
    composed = part.compose(part).compose(part)
    assert whole.epsilon(1e-5) == pytest.approx(composed.epsilon(1e-5), rel=1e-3)


def test_what_is_refused():
    """Several picks, independent noise, more steps than can be compared, other schemes."""
    several = plan_of(hs.strategies.bsr(6, 2), 3, picks=2)
    with pytest.raises(hs.errors.UnsupportedPlan, match=r"picks=1, got picks=2; shorter blocks"):
        gram_of(several, 1.0)
    for plan, reason in (
        (plan_of(hs.strategies.identity(6), 3), "profile is for independent noise"),
        (plan_of(hs.strategies.bsr(4_002, 2), 3), "at most 4,000"),
        (hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5), "poisson is not a uniform mixture"),
    ):
        assert "gram" not in hs.methods(plan)
        with pytest.raises(hs.errors.UnsupportedPlan, match=reason):
            gram_of(plan, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [2, 3])
def test_a_group_of_examples_in_bins(examples):
    """m examples with bins of their own: m runs with the noise divided by the root of m."""
    strategy, bins, noise = hs.strategies.bsr(8, 3), 4, 6.0
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=8, strategy=strategy)
    one = gram_of(plan, noise / examples**0.5, budget=1e5)
    group = one
    for _ in range(examples - 1):
        group = group.compose(one)
    kernel, rows = strategy.gram(spacing=bins) / noise**2, several_bins(bins, examples)
    for present, direction in ((True, "remove"), (False, "add")):
        losses = trajectory_losses(kernel, rows, present=present, draws=DRAWS, seed=5)
        assert_not_below(replace(group, directions=(direction,)), losses, present=present)
