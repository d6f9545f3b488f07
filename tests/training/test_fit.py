"""The NumPy reference loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from scipy.stats import chi2

import hockeystick as hs
from hockeystick.errors import BudgetExceeded, InvalidParameter, PlanMismatch, UnsupportedPlan
from hockeystick.randomness import generators
from hockeystick.training import LinearRegression, LogisticRegression, fit_linear, fit_logistic
from hockeystick.training.gradients import clipped_sum, lengths
from hockeystick.training.run import PrivateRun
from in_one_test import in_one_test
from references.factorizations import drawn

STEPS, EXAMPLES = 12, 90
CORRELATED = hs.Plan(
    sampling=hs.CyclicPoisson(rate=0.5, groups=3),
    steps=STEPS,
    strategy=hs.strategies.bsr(STEPS, bands=3),
)
POISSON = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=STEPS)
NOISE = {"noise_multiplier": 1.5, "max_grad_norm": 0.7}


def data(features=4):
    """Separable examples with their targets."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(EXAMPLES, features))
    return x, (x @ np.arange(1.0, features + 1) > 0).astype(float)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression])
def test_gradients_are_those_of_each_examples_loss(kind):
    """Central differences of the loss of a single example agree with its row."""
    x, y = data()
    model = kind(features=4)
    point = np.random.default_rng(1).normal(size=5)
    model.parameters = point.copy()
    rows = model.example_gradients(x, y)
    for i in range(5):
        losses = []
        for sign in (1, -1):
            model.parameters = point + sign * 1e-5 * np.eye(5)[i]
            losses.append(model.losses(x, y))
        assert rows[:, i] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-6, abs=1e-9)


def test_clipping_shortens_only_what_is_longer():
    """Directions stay, norms are at most the clip norm, zeros and huge rows are harmless."""
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert clipped_sum(rows, 1.0) == pytest.approx([0.6 + 0.3, 0.8 + 0.4])
    assert np.linalg.norm(clipped_sum(np.array([[1e200, -1e200]]), 2.0)) <= 2.0
    assert clipped_sum(np.empty((0, 2)), 1.0).tolist() == [0.0, 0.0]
    assert lengths(np.array([[3e-200, 4e-200]])) == pytest.approx([5e-200], rel=1e-12)


@pytest.mark.parametrize("plan", [POISSON, CORRELATED], ids=["poisson", "cyclic"])
def test_loop_is_the_obvious_one(plan):
    """The same batches and the same Z, solved with C in full and clipped one example at a time."""
    x, y = data()
    fitted = fit_logistic(x, y, plan=plan, learning_rate=0.8, rng=7, **NOISE)
    of_noise, of_batches = generators(7, 2)
    z = NOISE["noise_multiplier"] * NOISE["max_grad_norm"] * drawn(of_noise, (STEPS, 5))
    noise = solve_triangular(plan.strategy.to_matrix(), z, lower=True)
    batches = plan.sampling.batches(examples=EXAMPLES, steps=STEPS, rng=of_batches)
    parameters = np.zeros(5)
    for batch, row in zip(batches, noise, strict=True):
        total = np.zeros(5)
        for i in batch:
            one = np.append(x[i], 1.0)
            gradient = (1 / (1 + np.exp(-parameters @ one)) - y[i]) * one
            total += gradient * min(1.0, NOISE["max_grad_norm"] / np.linalg.norm(gradient))
        parameters -= 0.8 * (total + row) / plan.sampling.expected_batch_size(EXAMPLES)
    assert fitted.model.parameters == pytest.approx(parameters, rel=1e-9)
    assert fitted.run.taken_steps == STEPS


def test_little_noise_learns():
    """Both models find the direction of separable data."""
    x, y = data()
    options = {"plan": POISSON, "noise_multiplier": 1e-3, "max_grad_norm": 1.0, "rng": 1}
    logistic = fit_logistic(x, y, learning_rate=2.0, **options).model
    assert ((logistic.predict(x) > 0.5) == (y == 1)).mean() > 0.9
    linear = fit_linear(x, x @ [1.0, -1.0, 0.5, 0.0] + 0.25, learning_rate=0.5, **options).model
    assert linear.weights == pytest.approx([1.0, -1.0, 0.5, 0.0], abs=0.2)


def test_noise_has_the_covariance_of_the_strategy():
    """Steps with gradients of zero are the noise alone: sigma^2 C^-1 C^-T over the batch size^2."""
    dimension = 20_000
    run = PrivateRun(CORRELATED, examples=EXAMPLES, dimension=dimension, rng=5, **NOISE)
    rows = np.array([run.step(lambda b: np.zeros((b.size, dimension))) for _ in range(STEPS)])
    scale = NOISE["noise_multiplier"] * NOISE["max_grad_norm"] / run.expected_batch_size
    whitened = CORRELATED.strategy.to_matrix() @ rows / scale
    covariance = whitened @ whitened.T / dimension
    off = covariance[np.triu_indices(STEPS, 1)] * np.sqrt(dimension)
    assert (off**2).sum() < chi2.isf(1e-4, off.size)
    assert np.abs(np.diagonal(covariance) - 1).max() < 5 * np.sqrt(2 / dimension)


def test_a_seed_repeats_the_run_and_a_fresh_one_does_not():
    """Same seed, same parameters; without a seed they differ."""
    x, y = data()
    runs = [
        fit_logistic(x, y, plan=POISSON, learning_rate=1.0, rng=rng, **NOISE).model.parameters
        for rng in (4, 4, None)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_batches_and_noise_do_not_share_a_stream():
    """The generator of the noise is not that of the batches, unless it is given as one."""
    run = PrivateRun(POISSON, examples=EXAMPLES, dimension=3, rng=9, **NOISE)
    seen = []
    run.step(lambda b: seen.append(b) or np.zeros((b.size, 3)))
    first, second = generators(9, 2)
    # The calls before the last one are the probe's.
    assert np.array_equal(seen[-1], next(POISSON.batches(examples=EXAMPLES, rng=second)))
    assert not np.array_equal(seen[-1], next(POISSON.batches(examples=EXAMPLES, rng=first)))


def test_empty_batches_are_noise_alone():
    """A batch without examples is a step like any other."""
    plan = hs.Plan(sampling=hs.Poisson(rate=1e-9), steps=3)
    run = PrivateRun(plan, examples=10, dimension=2, rng=0, **NOISE)
    for _ in range(3):
        assert np.isfinite(run.step(lambda batch: np.zeros((batch.size, 2)))).all()
    assert run.taken_steps == 3


def test_no_step_beyond_the_plan():
    """The plan's last step is the last one."""
    run = PrivateRun(POISSON, examples=EXAMPLES, dimension=1, rng=0, **NOISE)
    for _ in range(STEPS):
        run.step(lambda batch: np.zeros((batch.size, 1)))
    with pytest.raises(PlanMismatch, match="12 steps"):
        run.step(lambda batch: np.zeros((batch.size, 1)))
    assert run.taken_steps == STEPS


def test_an_interrupted_step_ends_the_run():
    """After an error in the gradients no further step is taken."""
    run = PrivateRun(POISSON, examples=EXAMPLES, dimension=1, rng=0, **NOISE)
    with pytest.raises(ZeroDivisionError):
        run.step(lambda batch: 1 / 0)
    with pytest.raises(PlanMismatch, match="interrupted"):
        run.step(lambda batch: np.zeros((batch.size, 1)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_gradients_must_be_finite(wrong):
    """NaN and infinity do not enter a sum."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = PrivateRun(plan, examples=4, dimension=1, rng=0, **NOISE)
    with pytest.raises(InvalidParameter, match="gradients"):
        run.step(lambda batch: np.full((batch.size, 1), wrong))


def test_gradients_must_be_per_example():
    """A sum instead of rows is refused."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = PrivateRun(plan, examples=4, dimension=3, rng=0, **NOISE)
    with pytest.raises(InvalidParameter, match=r"shape \(4, 3\)"):
        run.step(lambda batch: np.zeros((1, 3)))


def test_users_with_several_examples():
    """A scheme that protects users takes the graph of whose the examples are."""
    x, y = data()
    owners = np.arange(EXAMPLES) // 2
    graph = hs.Attribution.from_pairs(
        examples=np.arange(EXAMPLES), users=owners, number_of_examples=EXAMPLES, number_of_users=45
    )
    plan = hs.Plan(sampling=hs.UserMinSep(rate=0.1, separation=3, examples_per_user=2), steps=6)
    fit = fit_logistic(x, y, plan=plan, learning_rate=1.0, attribution=graph, rng=0, **NOISE)
    assert fit.run.expected_batch_size == plan.sampling.expected_batch_size(graph)
    other = hs.Attribution.one_user_each(EXAMPLES + 1)
    with pytest.raises(InvalidParameter, match="attribution"):
        fit_logistic(x, y, plan=plan, learning_rate=1.0, attribution=other, **NOISE)


def test_a_filter_ends_the_run_cleanly():
    """The last permitted step is clipped, then the loop stops; everything is committed."""
    x, y = data()
    plan = hs.Plan(sampling=hs.FullBatch(), steps=STEPS)
    budget = hs.filters.Gaussian(mu=2.0)
    fit = fit_logistic(x, y, plan=plan, learning_rate=1.0, filter=budget, rng=0, **NOISE)
    # Each step costs 1/1.5^2 = 4/9 of the budget 4: nine whole ones use it up to rounding.
    assert fit.run.taken_steps in (9, 10)
    assert {entry.status for entry in budget.history} == {"committed"}
    assert len(budget.history) == fit.run.taken_steps
    with pytest.raises(BudgetExceeded):
        fit.run.step(lambda batch: np.zeros((batch.size, 5)))


def test_the_permitted_share_of_the_clip_norm_is_used():
    """A last step with little budget left contributes little."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=5)
    budget = hs.filters.Gaussian(mu=1.0)
    run = PrivateRun(
        plan,
        examples=1000,
        dimension=1,
        noise_multiplier=1.2,
        max_grad_norm=1.0,
        filter=budget,
        rng=0,
    )
    means = [float(run.step(lambda batch: np.ones((batch.size, 1)))[0]) for _ in range(2)]
    left = np.sqrt(1 - 1 / 1.44) * 1.2
    assert means == pytest.approx([1.0, left], abs=6 * 1.2 / 1000)


def test_individual_budgets_let_each_example_pay():
    """The obvious loop with the same budgets: exhausted examples contribute nothing any more."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=6)
    rows = np.array([[3.0], [0.5], [0.1], [0.0]])
    options = {"noise_multiplier": 0.8, "max_grad_norm": 1.0}
    budgets, same = (hs.filters.Individual.gaussian(examples=4, mu=2.0) for _ in range(2))
    run = PrivateRun(plan, examples=4, dimension=1, filter=budgets, rng=2, **options)
    asked = []
    found = [run.step(lambda i: asked.append(i) or rows[i])[0] for _ in range(6)]
    assert all(i.size == 4 for i in asked[-5:])
    of_noise, of_batches = generators(2, 2)
    z = 0.8 * drawn(of_noise, (6, 1))[:, 0]
    for batch, row, value in zip(plan.batches(examples=4, rng=of_batches), z, found, strict=True):
        step = same.step(rows[:, 0], rate=0.5, noise_multiplier=0.8)
        total = sum(step.factors[i] * rows[i, 0] for i in batch)
        assert value == pytest.approx((total + row) / 2.0, rel=1e-9)
    assert np.array_equal(budgets.spent, same.spent)
    assert budgets.active.tolist() == [False, True, True, True]
    made = run.statement(delta=1e-5)
    assert made.epsilon == budgets.guarantee().epsilon(1e-5)
    assert made.filter == {"filter": "Individual gaussian", "mu": 2.0}


@pytest.mark.parametrize(
    "plan",
    [CORRELATED, hs.Plan(sampling=hs.Poisson(rate=0.1, max_participations=2), steps=4)],
    ids=["correlated", "stopping"],
)
def test_filters_refuse_plans_they_cannot_account(plan):
    """Steps that depend on each other have no charge of their own."""
    x, y = data()
    with pytest.raises(UnsupportedPlan, match="one at a time"):
        fit_logistic(
            x, y, plan=plan, learning_rate=1.0, filter=hs.filters.Gaussian(mu=1.0), **NOISE
        )


def test_plans_without_an_analysis_are_refused_before_they_run():
    """Shuffled batches are refused with the reason."""
    x, y = data()
    plan = hs.Plan(sampling=hs.Shuffle(batch_size=10), steps=4)
    with pytest.raises(UnsupportedPlan, match="BallsInBins"):
        fit_logistic(x, y, plan=plan, learning_rate=1.0, **NOISE)


@in_one_test
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("noise_multiplier", 0.0),
        ("noise_multiplier", np.nan),
        ("max_grad_norm", np.inf),
        ("learning_rate", -1.0),
        ("plan", "poisson"),
        ("filter", hs.filters.Individual.gaussian(examples=2, mu=1.0)),
        ("filter", "renyi"),
        ("rng", 1.5),
    ],
)
def test_wrong_parameters_are_named(name, wrong):
    """Each is refused under its own name."""
    x, y = data()
    options = {"plan": POISSON, "learning_rate": 1.0, **NOISE, name: wrong}
    with pytest.raises(InvalidParameter, match=name):
        fit_logistic(x, y, **options)


def test_wrong_data_is_refused():
    """Targets that are not 0 or 1, NaN, and shapes that do not fit."""
    x, y = data()
    options = {"plan": POISSON, "learning_rate": 1.0, **NOISE}
    for examples, targets, name in (
        (x, y + 1, "targets"),
        (x, y[:-1], "targets"),
        (x[:, 0], y, "examples"),
        (np.full_like(x, np.nan), y, "examples"),
        (np.full_like(x, np.inf), y, "examples"),
    ):
        with pytest.raises(InvalidParameter, match=name):
            fit_logistic(examples, targets, **options)
