"""NumPy runs whose noise, rate and clip norm change between steps, and adaptive clipping."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch, UnsupportedPlan
from hockeystick.training import AdaptiveClipping, PrivateRun, check_statement
from hockeystick.training.adaptive_clipping import NormCount
from hockeystick.training.gradients import _sum_of_batch
from hockeystick.training.schedules import StepSettings, TakenSteps

EXAMPLES = 30
PLAN = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=9)


def made(filtered=True, plan=PLAN, **options):
    """A run in two dimensions, with a filter that has enough for all of it."""
    given = {"noise_multiplier": 1.5, "max_grad_norm": 2.0, "rng": 3, **options}
    if filtered:
        given["filter"] = hs.filters.Gaussian(mu=3.0)
    return PrivateRun(plan, examples=EXAMPLES, dimension=2, **given), given.get("filter")


def ones(batch):
    """Gradients of norm 0.5 for everybody."""
    return np.tile([0.3, 0.4], (batch.size, 1))


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_the_next_step_has_the_new_settings(arithmetic):
    """Batch, division, clipping, noise and charge; a run that never changes has the same noise."""
    run, budget = made(arithmetic=arithmetic)
    other, _ = made(arithmetic=arithmetic)
    seen = []

    def watched(batch):
        seen.append(batch.size)
        return ones(batch)

    for changes in ({}, {"rate": 1.0, "max_grad_norm": 0.1}, {"noise_multiplier": 6.0}, {}):
        if changes:
            run.set(**changes)
        released = run.step(watched) * run.expected_batch_size
        unchanged = other.step(lambda batch: np.zeros((batch.size, 2))) * 15
        ratio = run.noise_multiplier * run.max_grad_norm / (1.5 * 2.0)
        shortest = min(0.5, run.max_grad_norm)
        wanted = np.array([0.6, 0.8]) * shortest * seen[-1]
        # With exact arithmetic gradients are rounded to the lattice.
        assert np.allclose(released - unchanged * ratio, wanted, atol=1e-5)
    assert seen[-3:] == [EXAMPLES] * 3
    assert run.expected_batch_size == EXAMPLES
    assert run.history == (
        TakenSteps(1, 1.5, 2.0, 0.5),
        TakenSteps(1, 1.5, 0.1, 1.0),
        TakenSteps(2, 6.0, 0.1, 1.0),
    )
    charged = [(e.request["rate"], e.request["noise_multiplier"]) for e in budget.history]
    assert charged == [(0.5, 1.5), (1.0, 1.5), (1.0, 6.0), (1.0, 6.0)]
    stated = run.statement(delta=1e-5)
    assert stated.taken_schedule == [[1, 1.5, 2.0, 0.5], [1, 1.5, 0.1, 1.0], [2, 6.0, 0.1, 1.0]]
    assert (stated.noise_multiplier, stated.max_grad_norm) == (1.5, 2.0)
    assert check_statement(stated).holds
    assert "settings changed 2 times" in stated.paragraph()


def test_what_may_not_change():
    """Without a filter nothing; with one neither absurd values nor the rate of full batches."""
    fixed, _ = made(filtered=False)
    for name in ("noise_multiplier", "rate", "max_grad_norm"):
        with pytest.raises(PlanMismatch, match="only in a run with a filter"):
            fixed.set(**{name: 0.5})
        with pytest.raises(PlanMismatch, match=r"run\.set"):
            setattr(fixed, name, 0.5)
    run, _ = made()
    for name, value in (("noise_multiplier", 0), ("rate", 1.5), ("max_grad_norm", math.nan)):
        with pytest.raises(InvalidParameter, match=name):
            run.set(**{name: value})
    with pytest.raises(InvalidParameter, match="given noise_multiplier, rate or"):
        run.set()
    whole, _ = made(plan=hs.Plan(sampling=hs.FullBatch(), steps=3))
    whole.set(noise_multiplier=3.0)
    with pytest.raises(UnsupportedPlan, match="full-batch"):
        whole.set(rate=0.5)
    assert (whole.noise_multiplier, whole.rate, run.rate) == (3.0, 1.0, 0.5)
    exact, _ = made(arithmetic="exact")
    with pytest.raises(InvalidParameter, match="lattice"):
        exact.set(noise_multiplier=1e9)
    exact.step(ones)
    assert exact.history == (TakenSteps(1, 1.5, 2.0, 0.5),)


@given(st.floats(0.01, 50.0), st.floats(0.6, 100.0))
def test_sum_and_count_are_one_gaussian(noise, ratio):
    """In units of the noise an example moves both together by at most 1 / noise_multiplier."""
    settings = StepSettings(noise, 1.0, None, noise * ratio)
    moved = math.hypot(1 / settings.gradient_noise, 1 / (2 * settings.count_noise))
    assert moved <= 1 / noise
    assert moved >= 1 / noise * (1 - 1e-9)


@pytest.mark.parametrize("resolution", [None, 24])
def test_one_more_example_moves_the_count_by_half(resolution):
    """Whatever its gradient is, and by no more than is accounted on a lattice."""
    count_noise = 3.3
    counts = NormCount(PLAN, dimension=2, count_noise=count_noise, resolution=resolution)
    key = hs.randomness.Key.of(7)
    moved = counts.released(5, key=key, step=4) - counts.released(4, key=key, step=4)
    assert math.isclose(moved, 0.5, rel_tol=1e-12)
    noise = [counts.released(0, key=key, step=step) for step in range(9)]
    assert len(set(noise)) == 9
    if resolution is not None:
        # In lattice points of noise 2^24.
        half = math.floor(2**24 / (2 * count_noise))
        assert half / 2**24 <= 1 / (2 * count_noise)
        assert all(abs(one * 2 * half - round(one * 2 * half)) < 1e-6 for one in noise)
    rows = np.array([[0.1, 0.0], [5.0, 0.0], [0.0, 0.0]])
    batch = np.arange(3)
    found = _sum_of_batch(batch, lambda b: rows[b], clip=1.0, lattice=None)
    without = _sum_of_batch(batch[:1], lambda b: rows[b], clip=1.0, lattice=None)
    assert (found.excess, without.excess) == (1, 1)
    assert np.allclose(found.total, [1.1, 0.0])


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("filtered", [True, False])
def test_the_clip_norm_follows_the_quantile(arithmetic, filtered):
    """Norms are 1 to 3: the clip norm goes to their upper quartile, with or without a filter."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=150)
    policy = AdaptiveClipping(start=0.1, quantile=0.75, learning_rate=0.3)
    options = {"noise_multiplier": 4.0, "max_grad_norm": policy, "rng": 1, "examples": 400}
    if filtered:
        options["filter"] = hs.filters.Gaussian(mu=4.0)
    run = PrivateRun(plan, dimension=1, arithmetic=arithmetic, **options)
    norms = np.linspace(1.0, 3.0, 400)[:, None]
    for _ in range(plan.steps):
        run.step(lambda batch: norms[batch])
    assert 2.2 < run.max_grad_norm < 2.8
    assert run.noise_multiplier == 4.0
    assert len(run.history) == plan.steps
    assert {part.count_noise for part in run.history} == {10.0}
    stated = run.statement(delta=1e-5)
    assert stated.max_grad_norm == 0.1
    assert check_statement(stated).holds
    assert "noisy count" in stated.paragraph()


def test_adaptive_clipping_is_refused_where_it_is_not_proven():
    """Correlated noise, budgets of single examples, a count with too little noise."""
    policy = AdaptiveClipping(start=1.0, count_noise=0.7)
    banded = hs.Plan(
        sampling=hs.BallsInBins(bins=3), steps=9, strategy=hs.strategies.bsr(9, bands=2)
    )
    with pytest.raises(UnsupportedPlan, match="independent noise"):
        made(filtered=False, plan=banded, max_grad_norm=policy)
    single = hs.filters.Individual.gaussian(examples=EXAMPLES, mu=1.0)
    with pytest.raises(InvalidParameter, match="individual"):
        made(filtered=False, max_grad_norm=policy, filter=single)
    with pytest.raises(InvalidParameter, match="twice the noise of the count"):
        made(max_grad_norm=policy)
    with pytest.raises(InvalidParameter, match="quantile"):
        AdaptiveClipping(start=1.0, quantile=1.5)


def test_a_shortened_step_releases_no_count():
    """What is left of a budget shortens the gradient; a count would not fit beside it."""
    budget = hs.filters.Gaussian(mu=math.sqrt(2.5))
    run = PrivateRun(
        hs.Plan(sampling=hs.FullBatch(), steps=9),
        examples=EXAMPLES,
        dimension=2,
        noise_multiplier=1.0,
        max_grad_norm=AdaptiveClipping(start=1.0),
        filter=budget,
    )
    for _ in range(3):
        run.step(ones)
    last = run.history[-1]
    assert last.count_noise is None
    assert math.isclose(last.noise_multiplier, math.sqrt(2.0), rel_tol=1e-9)
    assert run.max_grad_norm * math.sqrt(0.5) == pytest.approx(last.clip_norm)
    assert check_statement(run.statement(delta=1e-5)).holds


def test_individual_budgets_are_charged_for_the_present_settings():
    """Full batches, of which everybody is charged (norm / clip norm / noise)^2."""
    budgets = hs.filters.Individual.gaussian(examples=EXAMPLES, mu=5.0)
    run, _ = made(filtered=False, plan=hs.Plan(sampling=hs.FullBatch(), steps=9), filter=budgets)
    run.step(ones)
    run.set(noise_multiplier=3.0, max_grad_norm=0.25)
    run.step(ones)
    assert np.allclose(budgets.spent, (0.25 / 1.5) ** 2 + (1 / 3.0) ** 2)
