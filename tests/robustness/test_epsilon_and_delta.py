"""delta(epsilon(delta)) <= delta, and both fall and rise as they should, far from ordinary runs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.errors import PrecisionError
from hypothesis_strategies import examples
from robustness.outcomes import outcome
from robustness.plans import SCHEMES, plans
from robustness.values import deltas, noises

pytestmark = pytest.mark.slow

ROUGH = {"accuracy": 0.5, "budget": 1e4}
# Two bounds of one grid agree to this; two grids of accuracy 0.5 only to a factor.
ROUNDING = 1e-9


def epsilon(plan: hs.Plan, noise: float, delta: float, method: str = "gaussian") -> float:
    """The upper bound that was reached."""

    def ask() -> float:
        try:
            guarantee = hs.account(plan, noise_multiplier=noise, method=method, **ROUGH)
            return guarantee.epsilon(delta)
        except PrecisionError as error:
            return error.upper

    found = outcome(ask)
    return found if isinstance(found, float) else math.nan


@examples(48)
@given(plans(st.one_of(*SCHEMES.values())), noises(), deltas())
def test_delta_of_epsilon(plan: hs.Plan, noise: float, delta: float) -> None:
    """The epsilon that is given for a delta has at most this delta; closed form."""
    guarantee = hs.account(plan, noise_multiplier=noise, method="gaussian")
    found = outcome(lambda: guarantee.epsilon(delta))
    assert 0 <= found < math.inf
    assert outcome(lambda: guarantee.delta(found)) <= delta * (1 + ROUNDING)


@examples(10)
@given(plans(SCHEMES["poisson"] | SCHEMES["cyclic-poisson"]), noises(), deltas())
def test_delta_of_epsilon_of_laws(plan: hs.Plan, noise: float, delta: float) -> None:
    """The same where numbers come from laws; both bounds are valid, at whatever accuracy."""
    method = "profile" if "profile" in hs.methods(plan) else "gaussian"
    guarantee = hs.account(plan, noise_multiplier=noise, method=method, **ROUGH)
    try:
        found = outcome(lambda: guarantee.epsilon(delta))
        lower = guarantee.answer(epsilon=found).lower if found < 1e300 else 0.0
    except (PrecisionError, TypeError):
        return
    assert lower is None or lower <= delta * (1 + ROUNDING)


@examples(48)
@given(plans(st.one_of(*SCHEMES.values())), noises(), deltas(), st.floats(1.0, 10.0))
def test_monotone(plan: hs.Plan, noise: float, delta: float, factor: float) -> None:
    """More noise, a larger delta or less of the run never cost more; closed form."""
    most = epsilon(plan, noise, delta)
    assert not math.isnan(most)
    assert epsilon(plan, noise * factor, delta) <= most * (1 + ROUNDING)
    assert epsilon(plan, noise, min(delta * factor, 0.5)) <= most * (1 + ROUNDING)
    if not plan.correlated:
        shorter = hs.Plan(sampling=plan.sampling, steps=math.ceil(plan.steps / factor))
        assert epsilon(shorter, noise, delta) <= most * (1 + ROUNDING)


@examples(16)
@given(plans(SCHEMES["poisson"]), noises(), deltas(), st.floats(2.0, 10.0))
def test_monotone_laws(plan: hs.Plan, noise: float, delta: float, factor: float) -> None:
    """An upper bound is never below a lower bound of what costs less."""
    if plan.correlated or plan.sampling.max_participations is not None:
        return
    upper = epsilon(plan, noise, delta, "profile")
    quieter = hs.account(plan, noise_multiplier=noise * factor, method="profile", **ROUGH)
    try:
        lower = outcome(lambda: quieter.answer(delta=delta)).lower
    except (PrecisionError, AttributeError):
        return
    assert math.isnan(upper) or lower <= upper * (1 + ROUNDING)
