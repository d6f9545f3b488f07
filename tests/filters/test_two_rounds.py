"""Two rounds of a one-parameter family: the natural filter where it is valid."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter

STEP = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.2)


def test_any_noises(tmp_path) -> None:
    """The second step may have as much less noise as the first had more; a third is refused."""
    kept = {"ledger": tmp_path / "ledger.db"}
    f = filters.TwoRounds(rate=0.2, budget=STEP.self_compose(2), **kept)
    f.request(rate=0.2, noise_multiplier=1.5)
    with pytest.raises(BudgetExceeded, match="not dominated"):
        f.request(rate=0.2, noise_multiplier=0.7)
    again = filters.TwoRounds(rate=0.2, budget=STEP.self_compose(2), **kept)
    again.request(rate=0.2, noise_multiplier=0.99)
    with pytest.raises(BudgetExceeded, match="2 rounds"):
        f.request(rate=0.2, noise_multiplier=100.0)
    claimed, there = f.guarantee().delta(0.5), STEP.self_compose(2).delta(0.5)
    assert abs(claimed / there - 1) < 2e-3  # the accuracy of both


def test_any_rates() -> None:
    """The same with one noise; steps of another noise are not of the family."""
    f = filters.TwoRounds(noise_multiplier=1.0, budget=STEP.self_compose(2))
    f.request(rate=0.1, noise_multiplier=1.0).cancel()
    f.request(rate=0.15, noise_multiplier=1.0)
    with pytest.raises(InvalidParameter):
        f.request(rate=0.1, noise_multiplier=1.1)
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.9, noise_multiplier=1.0)
    f.request(rate=0.21, noise_multiplier=1.0)
    with pytest.raises(InvalidParameter):
        filters.TwoRounds(rate=0.1, noise_multiplier=1.0, budget=STEP)


def test_no_rule_exceeds_the_budget() -> None:
    """The best second step after every output of the first, on a fine grid of outputs."""
    budget = STEP.self_compose(2)
    noises = np.linspace(0.9, 1.5, 4)
    outputs, width = np.linspace(-8.0, 8.0, 4001, retstep=True)
    for first in (1.2,):
        f = filters.TwoRounds(rate=0.2, budget=budget)
        f.request(rate=0.2, noise_multiplier=first)
        allowed = []
        for noise in noises:
            try:
                f.request(rate=0.2, noise_multiplier=float(noise)).cancel()
                allowed.append(hs.Profile.gaussian(noise_multiplier=float(noise)).subsample(0.2))
            except BudgetExceeded:
                pass
        assert 0 < len(allowed) < len(noises)
        without = np.exp(-(outputs**2) / 2) / np.sqrt(2 * np.pi)
        ratio = 0.8 + 0.2 * np.exp(outputs / first - 1 / (2 * first**2))
        for epsilon in (0.0, 0.5, 1.5):
            cuts = epsilon - np.log(ratio[::40])
            best = [max(float(one.delta(float(cut))) for one in allowed) for cut in cuts]
            heights = np.interp(np.arange(outputs.size), np.arange(0, outputs.size, 40), best)
            value = float(np.sum(without * ratio * heights) * width)
            assert value <= budget.delta(epsilon) * (1 + 1e-3)
