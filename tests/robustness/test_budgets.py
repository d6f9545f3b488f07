"""Filters, fed with requests of any size: never overdrawn, no NaN, refusals in one sentence."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import filters, ledger
from hockeystick.errors import HockeystickError
from hypothesis_strategies import examples
from robustness.outcomes import outcome, refused
from robustness.values import counts, deltas, magnitudes, rates

pytestmark = pytest.mark.slow


def wide_noises() -> st.SearchStrategy[float]:
    """Noise multipliers, also those that nobody would use."""
    return magnitudes(1e-3, 1e3) | magnitudes(1e-3, 1e3) | magnitudes(1e-300, 1e300)


def made() -> st.SearchStrategy[filters.Filter | HockeystickError]:
    """A filter of any kind and size that is quickly built."""
    epsilon = magnitudes(1e-3, 1e3)
    return st.one_of(
        magnitudes(1e-4, 1e4).map(lambda mu: filters.Gaussian(mu=mu)),
        magnitudes(1e-4, 1e4).map(lambda mu: filters.ApproximateGaussian(mu=mu)),
        st.tuples(epsilon, deltas(), st.floats(1.1, 100.0)).map(
            lambda t: outcome(lambda: filters.Renyi(epsilon=t[0], delta=t[1], order=t[2]))
        ),
    )


@st.composite
def requests(draw: st.DrawFn) -> dict[str, object]:
    """What a run might ask for."""
    return {
        "rate": draw(rates()),
        "noise_multiplier": draw(wide_noises()),
        "sensitivity": draw(st.just(1.0) | magnitudes(1e-6, 1e6)),
        "steps": draw(counts(1e6)),
        "clip": draw(st.booleans()),
    }


@examples(60)
@given(made(), st.lists(requests(), min_size=1, max_size=5), deltas())
def test_never_overdrawn(
    budget: filters.Filter | HockeystickError, asked: list[dict[str, object]], delta: float
) -> None:
    """What is spent is a number up to the budget, and a permit's clip scale lies in (0, 1]."""
    if refused(budget):
        return
    for request in asked:
        permit = outcome(lambda request=request: budget.request(**request))
        assert refused(permit) or 0 < permit.clip_scale <= 1
        assert refused(permit) or permit.charge > 0
        assert 0 <= budget.spent <= budget.budget
    found = outcome(lambda: budget.guarantee().epsilon(delta))
    assert refused(found) or 0 <= found < math.inf


@examples(24)
@given(
    counts(20),
    magnitudes(1e-3, 1e3),
    rates(),
    wide_noises(),
    st.integers(0, 2**32),
)
def test_individual_budgets(examples: int, mu: float, rate: float, noise: float, seed: int) -> None:
    """Contributions of any norm are shortened to what each example can pay."""
    budget = filters.Individual.gaussian(examples=examples, mu=mu)
    norms = 10.0 ** np.random.default_rng(seed).uniform(-9, 9, examples)
    for _ in range(3):
        step = outcome(lambda: budget.step(norms, rate=rate, noise_multiplier=noise))
        if refused(step):
            return
        assert np.all((budget.remaining >= 0) & np.isfinite(budget.remaining))


@examples(10)
@given(magnitudes(1e-3, 1e3), st.lists(requests(), min_size=1, max_size=4))
def test_ledgers_remember(mu: float, asked: list[dict[str, object]]) -> None:
    """What was spent is there after opening the file again, and the audit reads it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        budget = filters.Gaussian(mu=mu, ledger=path)
        for request in asked:
            outcome(lambda request=request: budget.request(**request))
        again = filters.Gaussian(mu=mu, ledger=path)
        assert again.spent == budget.spent <= budget.budget
        outcome(lambda: ledger.audit(path))
        outcome(again.audit)
