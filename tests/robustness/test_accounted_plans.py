"""Every plan has numbers within its time: no NaN, no proven bounds that cross, none that is low."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.errors import PrecisionError
from hockeystick.guarantee import Answer
from hypothesis_strategies import examples
from robustness.outcomes import outcome, refused
from robustness.plans import SCHEMES, plans
from robustness.values import deltas, noises

pytestmark = pytest.mark.slow

# Methods whose time grows with the steps are asked about short runs only.
SLOW, SHORT = ("conditional", "gram"), 30
# Loose, so that thousands of plans take a minute; every number is a valid bound all the same.
ROUGH = {"accuracy": 0.5, "budget": 1e4}
ROUNDING = 1e-9
"""Relative distance by which two proven bounds may cross in floating point."""


def asked(plan: hs.Plan, noise: float, delta: float, method: str) -> Answer | None:
    """The method's answer; None if it refuses, and bounds that are too wide count as an answer."""

    def ask() -> Answer:
        guarantee = hs.account(plan, noise_multiplier=noise, method=method, **ROUGH)
        try:
            return guarantee.answer(delta=delta)
        except PrecisionError as error:
            return Answer(error.upper, error.lower, method, guarantee.kind)

    answer = outcome(ask)
    return None if refused(answer) else answer


def certain(plan: hs.Plan, noise: float, delta: float) -> float:
    """An epsilon that one participation alone takes, if there is one in every run.

    Which step it is may be unknown, but not that the example is in the data: full participation.
    """
    if not isinstance(plan.sampling, hs.FullBatch):
        return 0.0
    lengths = plan.strategy.sensitivity(separation=plan.steps, participations=1)
    return hs.Profile.gaussian(noise_multiplier=noise / lengths, bound="lower").epsilon(delta)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_methods_agree(scheme: str) -> None:
    """No NaN, lower below upper, and no proven upper bound below another's lower bound."""

    @examples(6)
    @given(plans(SCHEMES[scheme]), noises(), deltas(), st.data())
    def check(plan: hs.Plan, noise: float, delta: float, data: st.DataObject) -> None:
        skipped = ("monte-carlo", *(SLOW if plan.steps > SHORT else ()))
        names = [name for name in hs.methods(plan) if name not in skipped]
        chosen = data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=2))
        lower, upper = certain(plan, noise, delta), math.inf
        for name in sorted(chosen):
            answer = asked(plan, noise, delta, name)
            if answer is None:
                continue
            assert answer.value >= 0
            assert answer.lower is None or 0 <= answer.lower <= answer.value * (1 + ROUNDING)
            if answer.kind == "proven":
                upper = min(upper, answer.value)
                lower = max(lower, answer.lower or 0.0)
        assert lower <= upper * (1 + ROUNDING)

    check()
