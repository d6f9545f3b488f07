"""One request, one answer: it does not depend on what was requested before."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

import hockeystick as hs
from hockeystick.bounds import UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis, Guarantee

pytestmark = pytest.mark.slow

STEPS = 4
BANDED = hs.strategies.bsr(STEPS, bands=2)
PLANS = {
    "poisson": hs.Plan(sampling=hs.Poisson(rate=0.1), steps=STEPS),
    "allocation": hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=2), steps=STEPS),
    "bins": hs.Plan(sampling=hs.BallsInBins(bins=2), steps=STEPS, strategy=BANDED),
    "idle bins": hs.Plan(sampling=hs.BallsInBins(bins=5), steps=STEPS, strategy=BANDED),
    "min-sep": hs.Plan(sampling=hs.MinSep(rate=0.1, separation=2), steps=STEPS, strategy=BANDED),
}
CASES = [
    (name, method)
    for name, plan in PLANS.items()
    for method in ("auto", *hs.methods(plan))
    if method != "monte-carlo"
]
REQUESTS = ({"delta": 1e-3}, {"epsilon": 0.5})


def guarantee_of(name, method):
    """A fresh one, as cheap as it can be."""
    return hs.account(PLANS[name], noise_multiplier=4.0, method=method, accuracy=0.1, budget=1e4)


def number(guarantee, delta=None, epsilon=None):
    """The number alone."""
    return guarantee.delta(epsilon) if delta is None else guarantee.epsilon(delta)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_answers_do_not_depend_on_earlier_requests(name, method):
    """Values, lower bounds, methods and details: in both orders, on fresh and on used objects."""
    one, other = guarantee_of(name, method), guarantee_of(name, method)
    answers = [one.answer(**request) for request in REQUESTS]
    numbers = [number(other, **request) for request in reversed(REQUESTS)]
    assert [answer.value for answer in answers] == numbers[::-1]
    assert [other.answer(**request) for request in REQUESTS] == answers
    assert [one.answer(**request) for request in REQUESTS] == answers


@pytest.mark.parametrize("method", ["conditional", "gram", "renyi"])
def test_every_answer_is_explained(method):
    """Also the second one, and also that of an example which may not take part."""
    for name in ("bins", "idle bins"):
        guarantee = guarantee_of(name, method)
        first, second = (guarantee.answer(delta=1e-4) for _ in range(2))
        assert first.details == second.details
        expected = {"conditional": "bad_event", "gram": "majorant", "renyi": "order"}[method]
        assert {"direction", expected} <= set(first.details)


@dataclass(frozen=True)
class Counting(ProfileBound):
    """Counts its evaluations, and those of its lower bound."""

    evaluations: list[str] = field(default_factory=list)

    def epsilon(self, delta, *, directions, accuracy):
        """That of the profile."""
        self.evaluations.append("upper")
        found = super().epsilon(delta, directions=directions, accuracy=accuracy)
        return UpperBound(found.value, find_lower=lambda: self.evaluations.append("lower"))


def competing():
    """Two analyses, of which the second one is better."""
    weak, strong = (Counting(hs.Profile.gaussian(noise_multiplier=s)) for s in (1.0, 2.0))
    return weak, strong, Guarantee((Analysis("a", "proven", weak), Analysis("b", "proven", strong)))


def test_method_costs_nothing_after_a_number():
    """It is the analysis behind the number that was given last."""
    weak, strong, guarantee = competing()
    guarantee.epsilon(1e-5)
    assert guarantee.method == "b"
    assert (weak.evaluations, strong.evaluations) == (["upper"], ["upper"])
    guarantee.epsilon(1e-5)
    assert (weak.evaluations, strong.evaluations) == (["upper"], ["upper"])


def test_a_number_alone_needs_no_lower_bound():
    """Lower bounds are computed for whole answers only, once."""
    weak, strong, guarantee = competing()
    guarantee.epsilon(1e-5)
    assert "lower" not in (*weak.evaluations, *strong.evaluations)
    for _ in range(2):
        assert guarantee.answer(delta=1e-5).lower is None
    assert strong.evaluations.count("lower") == 1


def test_composition_evaluates_nothing():
    """The name of a composition says which analyses its profile is made of."""
    weak, strong, guarantee = competing()
    both = guarantee.compose(guarantee)
    assert both.method == "min(a, b)"
    assert weak.evaluations == strong.evaluations == []


def test_upper_bounds_are_frozen_and_lower_bounds_below_them():
    """A lower bound that rounding puts above the value is not told."""
    bound = UpperBound(1.0, find_lower=lambda: 1.5)
    assert bound.lower == 1.0
    assert UpperBound(1.0).lower is None
    with pytest.raises(AttributeError):
        bound.value = 2.0
