"""How many steps each filter allows for an expected schedule."""

from __future__ import annotations

import pytest

from hockeystick.errors import InvalidParameter
from hockeystick.filters.comparison import allowances

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow


def steps_of(**asked):
    """Allowed steps by filter."""
    return {one.filter: one.steps for one in allowances(delta=1e-5, **asked)}


def test_full_batches_cost_nothing_extra():
    """Gaussian and Levy filters allow what accounting in advance does, the Renyi filter less."""
    found = steps_of(epsilon=1.0, rate=1.0, noise_multipliers=[20.0])
    assert found["Gaussian"] == found["Levy"] == found["fixed in advance"] == 28
    assert found["Renyi"] == 24


@pytest.mark.slow
def test_sampled_steps():
    """Renyi, then Levy, then the truth; the approximation exceeds it."""
    found = steps_of(epsilon=2.0, rate=0.01, noise_multipliers=[1.0, 1.3], block=50)
    assert found["Gaussian"] == 0
    assert found["Renyi"] < found["Levy"] <= found["fixed in advance"]
    assert found["fixed in advance"] < found["ApproximateGaussian"]


def test_a_rate_outside_both_regimes():
    """The approximate filter has no answer, and says so; the others have."""
    (row,) = (
        one
        for one in allowances(epsilon=8.0, delta=1e-5, rate=0.5, noise_multipliers=[9.0])
        if one.filter == "ApproximateGaussian"
    )
    assert row.steps is None
    assert "rate must be" in row.note


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise_multipliers": []},
        {"noise_multipliers": [0.0]},
        {"rate": 0.0},
        {"block": 0},
        {"epsilon": float("nan")},
    ],
)
def test_wrong_questions(wrong):
    """One sentence with the parameter and what is allowed."""
    asked = {"epsilon": 1.0, "rate": 0.1, "noise_multipliers": [1.0], **wrong}
    with pytest.raises(InvalidParameter):
        allowances(delta=1e-5, **asked)
