"""Example 3.3 of the f-DP filter paper: its numbers, and that they refute the natural filter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fdp_example_3_3 import (
    BRANCHES,
    CORRECTED,
    budget_height,
    calibration_point,
    example,
    first_stage,
    rule,
    second_heights,
)
from hockeystick import Profile
from hockeystick.fdp import worst_selection


@pytest.mark.slow
def test_example_3_3_with_the_branches_corrected_and_as_printed() -> None:
    """The four numbers; only the corrected rule exceeds the budget."""
    found = example()
    assert found.gamma == pytest.approx(1.363330, abs=1e-5)
    assert found.budget == pytest.approx(0.537365, abs=1e-5)
    assert found.corrected == pytest.approx(0.560630, abs=1e-5)
    assert found.printed == pytest.approx(0.513995, abs=1e-5)
    assert found.printed < found.budget < found.corrected


@pytest.mark.slow
def test_the_corrected_rule_is_the_worst_one_at_the_calibration_point() -> None:
    """The search finds the corrected branches and their height."""
    stage, seconds = first_stage(), second_heights()
    worst = worst_selection(stage, seconds, gamma=calibration_point())
    near = (stage.outcome > -2) & (stage.outcome < 2)
    assert np.array_equal(worst.choice[near], rule(stage.outcome, CORRECTED)[near])
    assert worst.height == pytest.approx(example().corrected, abs=1e-9)
    assert worst.budget == pytest.approx(float(budget_height(worst.gamma)), abs=1e-9)
    assert worst.excess == pytest.approx(0.023265, abs=1e-5)


@pytest.mark.slow
def test_the_budget_agrees_with_the_arithmetic_of_profiles() -> None:
    """Both compositions without adaptivity, computed on grids with proven bounds."""
    bounds = []
    for branch in BRANCHES:
        profiles = [
            Profile.gaussian(noise_multiplier=1 / mu).subsample(0.5) for mu in (1.3, *branch)
        ]
        whole = profiles[0].compose(profiles[1]).compose(profiles[2])
        bounds.append(whole.delta_bounds(math.log(calibration_point()), accuracy=1e-4))
    assert max(bound.lower for bound in bounds) <= example().budget
    assert example().budget <= max(bound.upper for bound in bounds)
