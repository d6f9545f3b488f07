"""Adaptive runs: a filter permits every step, or every example has a budget."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.errors import BudgetExceeded, InvalidParameter, PlanMismatch, UnsupportedPlan


def full(runs, steps: int = 16, **options):
    """Full batches, for which a Gaussian filter's charges are known in closed form."""
    return runs.private(hs.Plan(sampling=hs.FullBatch(), steps=steps), **options)


def loss(model, batch):
    """What the loop of these tests computes."""
    return model(batch[0]).sum(dim=1)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("most", [None, 16])
def test_the_budget_ends_the_loader_and_shortens_the_last_step(runs, clipping, most):
    """mu² = 3.25 / noise² suffices for three steps, and the fourth at half of the clip norm."""
    mu = float(np.sqrt(3.25)) / runs.NOISE
    privacy_filter = hs.filters.Gaussian(mu=mu)
    run = full(runs, filter=privacy_filter, clipping=clipping, physical_batch_size=most)
    start = runs.weights(run)
    _, path = runs.train(run)
    assert (run.taken_steps, run.stopped_by, run.finished) == (4, "filter", True)
    assert privacy_filter.remaining == 0
    assert [entry.status for entry in privacy_filter.history] == ["committed"] * 4
    whole, half = (runs.clipped_sum(runs.data().tensors[0], c * runs.CLIP) for c in (1.0, 0.5))
    rows = runs.private(run.record().plan, rng=3).optimizer._noise
    points = [start, *[w for i, w in enumerate(path) if (i + 1) % (len(path) // 4) == 0]]
    for step, wanted in enumerate([whole, whole, whole, half]):
        own = torch.cat([part.flatten() for part in next(rows)])
        moved = (points[step] - points[step + 1]) * run.expected_batch_size
        assert torch.allclose(moved - own, wanted, rtol=1e-3, atol=1e-3)
    with pytest.raises(BudgetExceeded, match="after 4 steps"):
        iter(run.loader)


def test_a_run_of_other_steps_than_expected_warns(runs):
    """Before anything is spent, with what to expect instead; steps that are near need no word."""
    other = hs.filters.Renyi(epsilon=8.0, delta=1e-5, expected=[(runs.RATE / 50, runs.NOISE, 1)])
    with pytest.warns(UserWarning, match=rf"expected=\[\({runs.RATE:g}, {runs.NOISE:g}, steps\)\]"):
        runs.private(runs.independent(), filter=other)
    assert other.spent == 0
    near = hs.filters.Renyi(epsilon=8.0, delta=1e-5, expected=[(runs.RATE, 1.5 * runs.NOISE, 1)])
    runs.private(runs.independent(), filter=near)


def test_a_run_without_a_permitted_step_says_so(runs):
    """A loop over no batches shows nothing by itself."""
    spent = hs.filters.Gaussian(mu=1.0)
    spent.request(noise_multiplier=1.0).commit()
    run = full(runs, filter=spent)
    with pytest.warns(UserWarning, match="permits no step, and the run ends with 0 steps"):
        assert list(run.loader) == []


def test_the_plan_is_the_upper_limit(runs):
    """A filter with budget left does not prolong the run."""
    privacy_filter = hs.filters.Renyi(epsilon=8.0, delta=1e-5)
    run = runs.private(runs.independent(), filter=privacy_filter)
    runs.train(run)
    assert (run.taken_steps, run.stopped_by) == (16, "plan")
    assert privacy_filter.remaining > 0
    rates = {entry.request["rate"] for entry in privacy_filter.history}
    assert rates == {runs.RATE}


@pytest.mark.slow
def test_a_levy_filter(runs):
    """It ends the run within its budget, and the statement carries its guarantee."""
    privacy_filter = hs.filters.Levy(epsilon=1.0, delta=1e-5, expected=[(runs.RATE, runs.NOISE, 1)])
    run = runs.private(runs.independent(), filter=privacy_filter)
    runs.train(run)
    assert run.taken_steps == len(privacy_filter.history) > 0
    assert privacy_filter.spent <= privacy_filter.budget
    stated = run.statement(delta=1e-5)
    assert (stated.kind, stated.epsilon) == ("proven", privacy_filter.guarantee().epsilon(1e-5))
    assert stated.epsilon <= 1.0


def test_a_batch_that_comes_again_is_charged_once(runs):
    """Its permit is held until the step is taken."""
    privacy_filter = hs.filters.Gaussian(mu=10.0)
    run = full(runs, filter=privacy_filter)
    for _ in range(3):
        next(iter(run.loader))
    assert len(privacy_filter.history) == 1
    runs.train(run, until=1)
    assert [entry.status for entry in privacy_filter.history] == ["committed"]


@pytest.mark.slow
def test_a_filter_that_forgot_is_refused_and_one_with_a_ledger_goes_on(runs, tmp_path):
    """A restored run may not begin with a fresh budget."""
    mu = float(np.sqrt(5.0)) / runs.NOISE

    def with_filter(name=None):
        """A run with a filter, in a ledger if it has a name."""
        ledger = None if name is None else tmp_path / name
        return full(runs, filter=hs.filters.Gaussian(mu=mu, ledger=ledger))

    for name, allowed in ((None, False), ("ledger.db", True)):
        run = with_filter(name)
        runs.train(run, until=3)
        other = with_filter(name)
        if not allowed:
            with pytest.raises(PlanMismatch, match="forgotten"):
                other.load_state_dict(run.state_dict())
            with pytest.raises(PlanMismatch, match="cannot continue without"):
                full(runs).load_state_dict(run.state_dict())
            with pytest.raises(PlanMismatch, match="another kind of filter"):
                other.load_state_dict(full(runs).state_dict())
            continue
        other.load_state_dict(run.state_dict())
        runs.train(other)
        assert (other.taken_steps, other.stopped_by) == (5, "filter")


def test_individual_budgets_are_charged_by_norms_and_end_contributions(runs):
    """Each example is charged for its own length; one that has spent all contributes nothing."""
    points = runs.data().tensors[0].clone()
    points[: runs.EXAMPLES // 2] *= 0.001
    dataset = torch.utils.data.TensorDataset(points, torch.arange(runs.EXAMPLES))
    mu = float(np.sqrt(2.25)) / runs.NOISE
    budgets = hs.filters.Individual.gaussian(examples=runs.EXAMPLES, mu=mu)
    run = full(runs, 4, dataset=dataset, filter=budgets, loss=loss, physical_batch_size=16)
    start = runs.weights(run)
    runs.train(run)
    norms = points.norm(dim=1).numpy() * np.sqrt(runs.OUTPUTS)
    clipped = np.minimum(norms / runs.CLIP, 1.0)
    spent = np.minimum(4 * clipped**2, 2.25) / runs.NOISE**2
    assert np.allclose(budgets.spent, spent, rtol=1e-4)
    assert (clipped < 1).any()
    assert (clipped == 1).any()
    # Long gradients: twice in full, once by half; short ones every time.
    short, long = points[clipped < 1], points[clipped == 1]
    shares = (1.0, 1.0, 0.5, 0.0)
    wanted = 4 * runs.clipped_sum(short) + sum(
        runs.clipped_sum(long, share * runs.CLIP) for share in shares
    )
    rows = runs.private(run.record().plan, rng=3).optimizer._noise
    own = sum(torch.cat([part.flatten() for part in row]) for row in rows)
    moved = (start - runs.weights(run)) * run.expected_batch_size
    assert torch.allclose(moved - own, wanted, rtol=1e-3, atol=2e-3)
    assert run.stopped_by == "plan"


def test_individual_budgets_after_the_probe(runs):
    """With dropout the probe computes losses without gradients, of which nothing may be left."""
    model = torch.nn.Sequential(runs.linear_model(), torch.nn.Dropout(0.5))
    budgets = hs.filters.Individual.gaussian(examples=runs.EXAMPLES, mu=5.0)
    run = full(runs, 3, model=model, filter=budgets, loss=loss)
    runs.train(run)
    assert (run.taken_steps, budgets.steps) == (3, 3)


@pytest.mark.slow
def test_individual_budgets_with_poisson_batches(runs):
    """Everyone is charged in every step, drawn or not; lengths that were charged are kept."""
    budgets = hs.filters.Individual.renyi(
        examples=runs.EXAMPLES, epsilon=2.0, delta=1e-5, expected=[(runs.RATE, 1.0, 1)]
    )
    run = runs.private(runs.independent(), filter=budgets, loss=loss)
    runs.train(run, until=1)
    assert budgets.steps == 1
    assert (budgets.spent > 0).all()
    runs.train(run)
    assert (run.taken_steps, budgets.steps) == (16, 16)
    assert (budgets.spent <= budgets.budget).all()
    assert run.statement(delta=1e-5).epsilon <= 2.0 * (1 + 1e-9)


def test_what_filters_cannot_account_for_is_refused(runs):
    """Correlated noise, dependent batches, budgets for others, a missing loss, ghost clipping."""
    filtered = {"filter": hs.filters.Gaussian(mu=1.0)}
    with pytest.raises(UnsupportedPlan, match="one at a time"):
        runs.private(runs.banded(), **filtered)
    with pytest.raises(UnsupportedPlan, match="one at a time"):
        runs.private(hs.Plan(sampling=hs.BallsInBins(bins=4), steps=8), **filtered)
    mine, others = (
        hs.filters.Individual.gaussian(examples=n, mu=1.0)
        for n in (runs.EXAMPLES, runs.EXAMPLES + 1)
    )
    with pytest.raises(InvalidParameter, match="loss"):
        full(runs, filter=mine)
    with pytest.raises(InvalidParameter, match="budgets for 40"):
        full(runs, filter=others, loss=loss)
    with pytest.raises(InvalidParameter, match="clipping"):
        full(runs, filter=mine, loss=loss, clipping="ghost")


def test_steps_that_individual_budgets_are_charged_for_again_have_other_noise(runs):
    """Less may be left for an example than the first time: the same noise would reveal it."""
    budgets = hs.filters.Individual.gaussian(examples=runs.EXAMPLES, mu=1.6 / runs.NOISE)
    run = full(runs, 4, filter=budgets, loss=loss)
    runs.train(run, until=1)
    state = copy.deepcopy(run.state_dict())
    same = full(runs, 4, filter=budgets, loss=loss)
    same.load_state_dict(state)
    assert same.optimizer._noise.lineage == run.optimizer._noise.lineage
    runs.train(run, until=3)
    again = full(runs, 4, filter=budgets, loss=loss)
    again.load_state_dict(state)
    assert again.optimizer._noise.lineage != run.optimizer._noise.lineage
    runs.train(again)
    assert (again.taken_steps, budgets.steps) == (4, 6)


def test_budgets_and_rates_of_their_own_in_training(runs):
    """Half of the examples may spend a quarter, and take part in a fifth of the steps."""
    shares = np.where(np.arange(runs.EXAMPLES) % 2, 1.0, 0.25)
    budgets = hs.filters.Individual.renyi(
        examples=runs.EXAMPLES,
        epsilon=4.0,
        delta=1e-5,
        expected=[(runs.RATE, 1.0, 1)],
        shares=shares,
        participation=np.where(shares < 1, 0.2, 1.0),
    )
    run = runs.private(runs.independent(), filter=budgets, loss=loss)
    runs.train(run, until=2)
    assert (budgets.spent[shares < 1] < 0.3 * budgets.spent[shares == 1].min()).all()
    runs.train(run)
    assert (budgets.spent <= budgets.budgets).all()
    assert run.statement(delta=1e-5).epsilon <= 4.0 * (1 + 1e-9)
    assert budgets.guarantee(share=0.25).epsilon(1e-5) < 0.85 * budgets.guarantee().epsilon(1e-5)
