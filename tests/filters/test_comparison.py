"""How many steps each filter allows for an expected schedule."""

from __future__ import annotations

import pytest

from hockeystick import filters
from hockeystick.errors import InvalidParameter
from hockeystick.filters.comparison import allowed_steps
from in_one_test import in_one_test

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow


def steps_of(epsilon, *expected):
    """Allowed steps by filter."""
    found = allowed_steps(epsilon=epsilon, delta=1e-5, expected=expected)
    return {one.filter: one.steps for one in found}


def test_full_batches_cost_nothing_extra():
    """Gaussian and Levy filters allow what accounting in advance does, the Renyi filter less."""
    found = steps_of(1.0, (1.0, 20.0, 1))
    assert found["Gaussian"] == found["Levy"] == found["fixed in advance"] == 28
    assert found["Renyi"] == 24


@pytest.mark.slow
def test_sampled_steps():
    """Renyi, then Levy, then the truth; the approximation exceeds it."""
    found = steps_of(2.0, (0.01, 1.0, 50), (0.01, 1.3, 50))
    assert found["Gaussian"] == 0
    assert found["Renyi"] < found["Levy"] <= found["fixed in advance"]
    assert found["fixed in advance"] < found["ApproximateGaussian"]


def test_a_rate_outside_both_regimes(monkeypatch):
    """The approximate filter has no answer, and says so; others have."""
    two = {one.__name__: one for one in (filters.ApproximateGaussian, filters.Gaussian)}
    monkeypatch.setattr("hockeystick.filters.registry._REGISTERED", two)
    approximate, gaussian, _ = allowed_steps(epsilon=8.0, delta=1e-5, expected=[(0.5, 9.0, 1)])
    assert approximate.steps is None
    assert "rate must be" in approximate.note
    assert gaussian.steps > 0


@in_one_test
@pytest.mark.parametrize(
    "wrong",
    [
        {"expected": []},
        {"expected": 0.1},
        {"expected": [(0.1, 1.0)]},
        {"expected": [(0.1, 0.0, 1)]},
        {"expected": [(0.1, 1e99, 1)]},
        {"expected": [(0.0, 1.0, 1)]},
        {"expected": [(0.1, 1.0, 0)]},
        {"epsilon": float("nan")},
    ],
)
def test_wrong_questions(wrong):
    """One sentence with the parameter and what is allowed."""
    question = {"epsilon": 1.0, "delta": 1e-5, "expected": [(0.1, 1.0, 1)], **wrong}
    with pytest.raises(InvalidParameter):
        allowed_steps(**question)


def test_steps_are_counted_one_at_a_time_in_the_given_proportions():
    """A common factor changes nothing but the note of a filter for which longer requests pay."""
    one, many = (
        {row.filter: row for row in allowed_steps(epsilon=2.0, delta=1e-5, expected=[given])}
        for given in ((0.01, 1.0, 1), (0.01, 1.0, 20))
    )
    assert {name: row.steps for name, row in one.items()} == {
        name: row.steps for name, row in many.items()
    }
    assert not one["Levy"].note
    assert "in requests as given" in many["Levy"].note
