"""The search for menus: its estimate of delta, and how close its designs come to the target."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.filters.residual.composition import StepClass
from hockeystick.filters.residual.menus import checked_ranges
from hockeystick.filters.residual.search import designed
from hockeystick.filters.residual.search.estimate import FastDelta
from hockeystick.filters.residual.search.evenly import Even


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_estimate_of_one_step(epsilon: float) -> None:
    """Full batches: the formula of the Gaussian mechanism, for every size of delta."""
    fast = FastDelta(epsilon)
    for noise in (1.0, 4.0, 12.0):
        exact = hs.Profile.gaussian(noise_multiplier=noise).delta(epsilon)
        for steps in (1, 9):
            found = fast.log_delta({StepClass(1.0, noise * math.sqrt(steps)): steps})
            assert math.isclose(found, math.log(exact), abs_tol=1e-3)


def test_the_estimate_of_a_composition() -> None:
    """Sampled steps: within 1 % of the bounds of the profile arithmetic."""
    counts = {StepClass(0.01, 0.9): 30, StepClass(0.02, 1.6): 100, StepClass(0.001, 0.8): 40}
    whole = None
    for kind, count in counts.items():
        part = hs.Profile.gaussian(noise_multiplier=kind.noise).subsample(kind.rate)
        part = part.self_compose(count)
        whole = part if whole is None else whole.compose(part)
    assert whole is not None
    for epsilon in (0.5, 1.0, 2.0):
        bounds = whole.delta_bounds(epsilon, directions=("remove",), accuracy=5e-3)
        found = math.exp(FastDelta(epsilon).log_delta(counts))
        assert 0.99 * bounds.lower <= found <= 1.01 * bounds.upper


def test_nothing_costs_nothing() -> None:
    """No steps have delta 0, and very strong ones at most 1."""
    assert FastDelta(1.0).log_delta({}) == -math.inf
    assert -0.01 < FastDelta(1.0).log_delta({StepClass(1.0, 0.05): 3}) <= 0.0


def test_spread_steps_are_even() -> None:
    """As many as are asked for, with the mean of the range."""
    rows = checked_ranges([((0.1, 0.3), 2.0, 2), (0.2, (1.0, 3.0), 1)])
    found = Even(rows).spread(30.0)
    assert math.isclose(sum(found.values()), 30.0)
    rates = [one.rate * n for one, n in found.items() if one.noise == 2.0 and one.rate != 0.2]
    assert math.isclose(sum(rates) / 20.0, 0.2, rel_tol=1e-2)


def test_designs_are_close_to_the_target() -> None:
    """The first menu uses its share of delta, but for less than a step."""
    epsilon, delta = 1.0, 1e-5
    design = designed(checked_ranges([(0.05, (2.0, 3.0), 1)]), epsilon=epsilon, delta=delta)
    fast = FastDelta(epsilon)
    parts = [math.exp(fast.log_delta(menu.start())) for menu in design.menus]
    assert sum(parts) + design.exchanges * design.slack <= delta
    more = design.menus[0].start()
    weakest = min(more, key=lambda one: one.variance)
    more[weakest] += 2
    whole = math.exp(fast.log_delta(more)) + sum(parts[1:])
    assert whole + design.exchanges * design.slack >= 0.995 * delta
    places = np.array([kind.noise for kind in more])
    assert places.min() < 2.02
