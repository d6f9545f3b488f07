"""Guarantees: input checks, composition, fallbacks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter, PrecisionError, UnsupportedPlan
from hockeystick.guarantee import Analysis, Guarantee

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, None, "1", [1.0]])
def test_bad_noise(bad):
    """Noise must be a finite number above zero, and the message has name, range and value."""
    with pytest.raises(InvalidParameter) as caught:
        hs.account(PLAN, noise_multiplier=bad)
    assert "noise_multiplier must be a finite number > 0, got" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, hs.errors.HockeystickError)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, math.nan, "x"])
def test_bad_delta(bad):
    """delta lies strictly between 0 and 1."""
    with pytest.raises(InvalidParameter, match="delta must be in"):
        hs.account(PLAN, noise_multiplier=1.0).epsilon(bad)


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_bad_epsilon(bad):
    """epsilon of a guarantee is finite and not negative."""
    with pytest.raises(InvalidParameter, match="epsilon"):
        hs.account(PLAN, noise_multiplier=1.0).delta(bad)


@pytest.mark.parametrize(
    "options",
    [{"method": "magic"}, {"direction": "sideways"}, {"accuracy": math.nan}, {"accuracy": 0.0}],
)
def test_bad_options(options):
    """Unknown names and impossible accuracies are refused."""
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        hs.account(PLAN, noise_multiplier=1.0, **options)


@pytest.mark.parametrize("steps", [0, -1, 1.5, math.nan, True])
def test_bad_steps(steps):
    """The number of steps is a positive integer."""
    with pytest.raises(InvalidParameter, match="steps"):
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=steps)


@pytest.mark.parametrize("rate", [0.0, 1.1, -0.5, math.nan])
def test_bad_rate(rate):
    """A rate lies in (0, 1]."""
    with pytest.raises(InvalidParameter, match=r"rate must be in \(0, 1\]"):
        hs.Poisson(rate=rate)


def test_plan_checks_its_parts():
    """Things that are not schemes, profiles or upper bounds are refused."""
    with pytest.raises(InvalidParameter, match="sampling"):
        hs.Plan(sampling="poisson", steps=1)
    with pytest.raises(InvalidParameter, match="mechanism"):
        hs.Plan(sampling=hs.FullBatch(), steps=1, mechanism=1.0)
    lower = hs.Profile.gaussian(noise_multiplier=1.0, bound="lower")
    with pytest.raises(InvalidParameter, match="mechanism"):
        hs.Plan(sampling=hs.FullBatch(), steps=1, mechanism=lower)
    with pytest.raises(InvalidParameter, match="plan"):
        hs.account("plan", noise_multiplier=1.0)


def test_mechanism_and_noise_exclude_each_other():
    """A plan with a mechanism takes no noise multiplier, and `gaussian` does not apply to it."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5, mechanism=hs.Profile.laplace(scale=2.0))
    with pytest.raises(InvalidParameter, match="noise_multiplier"):
        hs.account(plan, noise_multiplier=1.0)
    assert hs.methods(plan) == {"profile": "proven", "renyi": "proven"}
    with pytest.raises(UnsupportedPlan, match="profile"):
        hs.account(plan, method="gaussian")
    assert 0 < hs.account(plan).epsilon(1e-6) < 2.5


def test_exactly_one_question():
    """`answer` takes delta or epsilon, not both and not neither."""
    guarantee = hs.account(PLAN, noise_multiplier=1.0)
    with pytest.raises(InvalidParameter):
        guarantee.answer()
    with pytest.raises(InvalidParameter):
        guarantee.answer(delta=1e-5, epsilon=1.0)


def test_composition_requires_the_same_meaning():
    """Guarantees about different directions do not compose."""
    both = hs.account(PLAN, noise_multiplier=1.0)
    add = hs.account(PLAN, noise_multiplier=1.0, direction="add")
    with pytest.raises(InvalidParameter, match="directions"):
        both.compose(add)


def test_composition_takes_the_weakest_kind():
    """A composition is only as established as its weakest part."""
    profile = hs.Profile.gaussian(noise_multiplier=2.0)
    proven = Guarantee(analyses=(Analysis("profile", "proven", ProfileBound(profile, exact=True)),))
    asymptotic = Guarantee(analyses=(Analysis("clt", "asymptotic", ProfileBound(profile)),))
    composed = proven.compose(asymptotic)
    assert composed.kind == "asymptotic"
    assert composed.method == "profile + clt"
    assert composed.answer(delta=1e-5).lower is None


def test_falls_back_when_precision_is_out_of_reach():
    """The smallest proven number is given: another analysis's, or the bound that was reached."""
    # Three wide cells: bounds that cannot agree to 0.1 %.
    edges = np.linspace(-3, 3, 4)
    coarse = hs.Profile.from_cells(edges, p=[0.1, 0.3, 0.6], q=[0.6, 0.3, 0.1])
    with pytest.raises(PrecisionError) as caught:
        coarse.epsilon(0.01)
    assert caught.value.lower < caught.value.upper

    def answer(epsilon):
        pure = hs.Profile.from_epsilon_delta(epsilon)
        return Guarantee(
            analyses=(
                Analysis("coarse", "proven", ProfileBound(coarse, exact=True)),
                Analysis("pure", "proven", ProfileBound(pure)),
            )
        ).answer(delta=0.01)

    assert answer(1.0).method == "pure"
    assert answer(1.0).value <= 1.0
    assert answer(5.0).method == "coarse"
    assert answer(5.0).value == caught.value.upper


def test_several_analyses_give_their_minimum():
    """Without an exact analysis the smallest of the valid answers is given."""
    weak = hs.Profile.gaussian(noise_multiplier=1.0)
    strong = hs.Profile.gaussian(noise_multiplier=2.0)
    guarantee = Guarantee(
        analyses=(
            Analysis("a", "proven", ProfileBound(weak)),
            Analysis("b", "proven", ProfileBound(strong)),
        )
    )
    assert guarantee.epsilon(1e-5) == strong.epsilon(1e-5)
    assert guarantee.method == "b"
    doubled = guarantee.compose(guarantee).epsilon(1e-5)
    assert doubled == pytest.approx(strong.self_compose(2).epsilon(1e-5), rel=2e-3)
