"""The failure budget of `conditional` against simulated runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import hockeystick as hs
from hockeystick.analyses.conditional.bound import ConditionalBound
from hypothesis_strategies import thinned
from references.bad_event import bad_event_frequency

BUDGET, RUNS, ALARM = 0.02, 20_000, 1e-6
STRATEGIES = {
    "identity": hs.strategies.identity,
    "bsr": lambda steps: hs.strategies.bsr(steps, 4),
}


def bound_for(strategy: str, bins: int, noise: float, epochs: int = 3) -> ConditionalBound:
    """The bound of a run of whole epochs, and its levels."""
    columns = STRATEGIES[strategy](epochs * bins).summed_columns(spacing=bins)
    return ConditionalBound(lambda: columns / noise)


def by_step(bound: ConditionalBound, thresholds: np.ndarray) -> np.ndarray:
    """The thresholds of every step, by the number of bins below."""
    counts = [segment.last - segment.first for segment in bound.segments]
    return np.repeat(thresholds, counts, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("noise", thinned([2.0, 1.0, 5.0], normal=1))
@pytest.mark.parametrize("bins", thinned([20, 100], normal=1))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_bad_event_is_within_its_budget(strategy, bins, noise, direction):
    """At a budget of 0.02, as many of 20,000 runs as chance allows are bad at most."""
    bound = bound_for(strategy, bins, noise)
    thresholds = by_step(bound, bound.thresholds(direction, BUDGET))
    assert 0 < thresholds.min() < 1
    frequency = bad_event_frequency(
        bound.levels, thresholds, present=direction == "remove", runs=RUNS, seed=5
    )
    assert stats.binom.sf(round(frequency * RUNS) - 1, RUNS, BUDGET) > ALARM


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_the_bad_event_is_within_its_budget_on_a_small_run(direction):
    """The same for eight bins and odd strategies: ties, a dense one, bins that do not divide."""
    rng = np.random.default_rng(2)
    dense = np.tril(rng.random((20, 20))) + np.eye(20)
    for strategy in (
        hs.strategies.from_coefficients([1.0, 1.0, 0.5], steps=20),
        hs.strategies.from_matrix(dense),
    ):
        levels = strategy.summed_columns(spacing=8) / 3.0
        bound = ConditionalBound(lambda levels=levels: levels)
        thresholds = by_step(bound, bound.thresholds(direction, 0.2))
        frequency = bad_event_frequency(
            bound.levels, thresholds, present=direction == "remove", runs=20_000, seed=1
        )
        assert frequency <= 0.2


def test_a_budget_that_is_too_small_is_noticed():
    """The simulation sees it if thresholds are taken for a hundred times the budget."""
    bound = bound_for("identity", 20, 1.0)
    thresholds = by_step(bound, bound.thresholds("remove", 0.99))
    frequency = bad_event_frequency(bound.levels, thresholds, present=True, runs=5_000, seed=3)
    assert frequency > 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "noise"), [("identity", 2.0), ("bsr", 6.0)])
def test_the_estimate_is_close_to_the_bound(strategy, noise):
    """Within a few per cent: far less than the factor at which a bound is not evaluated."""
    bound = bound_for(strategy, 6, noise, epochs=2)
    estimate = bound.coarse_epsilon(1e-5, directions=("remove", "add"))
    found = bound.epsilon(1e-5, directions=("remove", "add"), accuracy=0.05)
    assert estimate == pytest.approx(found.value, rel=0.1)
