"""Likelihood ratios by recursion against the sum over all ways to take part."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.schemes.simulation.participation_run import half_norms, log_ratios
from in_one_test import in_one_test
from references.participating_plans import SHORT_RUNS, ShortRun, banded_matrix, prepared
from references.participation_patterns import (
    cyclic_patterns,
    likelihood_ratio,
    min_sep_patterns,
    user_patterns,
)

NOISE = 0.7


def outputs_of(run, *, noise, seed, rows=40):
    """Outputs of runs with and without the example, and with far larger noise."""
    rng = np.random.default_rng(seed)
    y = noise * rng.standard_normal((rows, run.plan.steps))
    counts = [np.array(counts, dtype=float) for _, counts in run.patterns]
    for row in range(rows // 3):
        y[row] += run.plan.strategy.to_matrix() @ counts[rng.integers(len(counts))]
    y[rows // 3 : rows // 2] *= 3
    return y


def exact_logs(run, y, noise):
    """log LR by enumeration."""
    matrix = run.plan.strategy.to_matrix() / noise
    return np.log(likelihood_ratio(run.patterns, matrix, y / noise))


def exponents_of(run, y, noise):
    """u - h, and h, for each row of outputs."""
    columns = prepared(run, noise=noise).columns
    half = half_norms(columns.squared_norms, noise)
    return y @ run.means / noise**2 - half, half


@in_one_test
@pytest.mark.parametrize("run", SHORT_RUNS, ids=lambda run: run.name)
@pytest.mark.parametrize("how", ["chosen", "plain", "logarithmic"])
def test_recursions_equal_enumeration(run, how):
    """To 1e-10, in plain numbers and in logarithms."""
    law = prepared(run, noise=NOISE).law
    y = outputs_of(run, noise=NOISE, seed=3)
    exponents, half = exponents_of(run, y, NOISE)
    if how == "chosen":
        found = log_ratios(law, exponents, half)
    elif how == "plain":
        with np.errstate(divide="ignore"):
            found = law.plain(np.exp(exponents), half)
    else:
        found = law.logarithmic(exponents, half)
    np.testing.assert_allclose(np.exp(found - exact_logs(run, y, NOISE)), 1, rtol=1e-10)


@in_one_test
@pytest.mark.parametrize("run", SHORT_RUNS, ids=lambda run: run.name)
def test_probabilities_of_patterns_sum_to_one(run):
    """The enumeration itself: nothing is forgotten."""
    assert sum(chance for chance, _ in run.patterns) == pytest.approx(1, rel=1e-12)


@in_one_test
@pytest.mark.parametrize("run", SHORT_RUNS, ids=lambda run: run.name)
def test_tiny_noise_overflows_into_logarithms(run):
    """Where e^u overflows the logarithmic recursion gives the largest exponent of a pattern."""
    noise = 0.02
    law = prepared(run, noise=noise).law
    x = np.array([counts for _, counts in run.patterns], dtype=float)
    means = x @ run.plan.strategy.to_matrix().T
    y = means[-1:] + 0.0
    exponents, half = exponents_of(run, y, noise)
    each = (y @ means.T - (means**2).sum(axis=1) / 2) / noise**2
    log_chances = np.log([chance for chance, _ in run.patterns])
    exact = np.logaddexp.reduce(each + log_chances, axis=1)
    np.testing.assert_allclose(log_ratios(law, exponents, half), exact, rtol=1e-10)


@in_one_test
@pytest.mark.parametrize(
    "run",
    [run for run in SHORT_RUNS if not isinstance(run.plan.sampling, hs.BallsInBins)],
    ids=lambda run: run.name,
)
def test_expected_copies(run):
    """The means of participations and their squares, by which proposals are bounded."""
    law = prepared(run, noise=1.0).law
    chances = np.array([chance for chance, _ in run.patterns])
    x = np.array([counts for _, counts in run.patterns], dtype=float)
    np.testing.assert_allclose(law.expected, chances @ x, rtol=1e-12)
    np.testing.assert_allclose(law.expected_squares, chances @ x**2, rtol=1e-12)


# -- more bands than the separation ---------------------------------------------------------------


def overlapping(scheme, strategy, patterns, held=1):
    """A run whose participations overlap."""
    plan = hs.Plan(sampling=scheme, steps=strategy.steps, strategy=strategy)
    return ShortRun("", plan, patterns, held)


OVERLAPPING = {
    "cold": overlapping(
        hs.MinSep(rate=0.4, separation=2, warm_start=False),
        strategies.bsr(9, bands=5),
        min_sep_patterns(9, rate=0.4, separation=2),
    ),
    "warm, full": overlapping(
        hs.MinSep(rate=0.3, separation=3),
        strategies.bsr(9, bands=9),
        min_sep_patterns(9, rate=0.3, separation=3, warm=True),
    ),
    "matrix": overlapping(
        hs.MinSep(rate=0.4, separation=2),
        banded_matrix(8, 6),
        min_sep_patterns(8, rate=0.4, separation=2, warm=True),
    ),
    "poisson": overlapping(
        hs.Poisson(rate=0.3),
        strategies.bsr(8, bands=3),
        min_sep_patterns(8, rate=0.3, separation=1),
    ),
    "user": overlapping(
        hs.UserMinSep(rate=0.2, separation=2, examples_per_user=2, warm_up=1),
        strategies.bsr(6, bands=4),
        user_patterns(6, rate=0.2, separation=2, examples=2, warm_up=1),
        held=2,
    ),
    "conjectured": overlapping(
        hs.ConjecturedUserMinSep(rate=0.2, separation=2, examples_per_user=3),
        banded_matrix(6, 4),
        user_patterns(6, rate=0.2, separation=2, examples=3, by_draws=False),
        held=3,
    ),
    "cyclic": overlapping(
        hs.CyclicPoisson(rate=0.6, groups=2, random_phase=True),
        strategies.bsr(8, bands=5),
        cyclic_patterns(8, rate=0.6, groups=2),
    ),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlaps_are_on_the_safe_side(name):
    """Above the likelihood ratio for a run with the example, below it for one without."""
    run = OVERLAPPING[name]
    y = outputs_of(run, noise=NOISE, seed=7, rows=300)
    exact = exact_logs(run, y, NOISE)
    exponents, half = exponents_of(run, y, NOISE)
    above = log_ratios(prepared(run, noise=NOISE).law, exponents, half)
    without = prepared(run, noise=NOISE, present=False)
    hidden = without.hidden / NOISE**2
    below = log_ratios(without.law, exponents - hidden, half)
    assert np.all(above >= exact * (1 - 1e-12) - 1e-12)
    assert np.all(below <= exact + 1e-12)
    # Not by being trivial: both see the outputs, and both differ from the truth.
    assert np.max(above - exact) > 1e-3
    assert np.max(exact - below) > 1e-3
    assert np.corrcoef(below, exact)[0, 1] > 0.9


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_runs_take_no_proposals(name):
    """Their densities are not known, so that nothing is weighted wrongly."""
    run = OVERLAPPING[name]
    assert not prepared(run, noise=1.0).takes_proposals
    assert not prepared(run, noise=1.0, present=False).takes_proposals


@pytest.mark.parametrize("present", [True, False])
def test_without_overlap_nothing_is_hidden(present):
    """Bands up to the separation: exact in both directions."""
    for run in SHORT_RUNS:
        found = prepared(run, noise=1.0, present=present)
        assert found.takes_proposals
        assert np.all(np.asarray(found.hidden) == 0)
