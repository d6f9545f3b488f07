"""Conditioning undoes subsampling, and atoms moved outwards dominate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.law import condition, from_losses, reverse, subsample
from hockeystick._numerics.rounding import spread_outwards
from in_one_test import in_one_test

RATES = [1e-3, 0.1, 0.7, 1.0]


def normalised(losses, q):
    """A law with mean 1: the P-mass that is missing sits at infinity."""
    q = np.asarray(q, dtype=float)
    losses = np.asarray(losses, dtype=float)
    p = q * np.exp(losses)
    main = np.where(losses >= 0, p, q)
    return from_losses(losses, main, p_infinite=1 - p.sum(), q_zero=1 - q.sum())


PAIRS = {
    "plain": normalised([-1.5, -0.2, 0.1, 0.4], [0.1, 0.4, 0.3, 0.2]),
    "with mass at zero": normalised([-0.5, 0.2, 0.5], [0.3, 0.3, 0.2]),
    "far": normalised([-30.0, -0.01, 0.0, 0.009], [0.01, 0.4, 0.2, 0.39]),
}
EPSILONS = [-3.0, -0.4, 0.0, 0.05, 0.3, 2.0]


@in_one_test
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", PAIRS)
def test_condition_undoes_subsampling(name, rate):
    """Every delta comes back, in both directions."""
    law = PAIRS[name]
    back = condition(subsample(law, rate), rate)
    for epsilon in EPSILONS:
        for turn in (lambda x: x, reverse):
            expected = delta_from_law(turn(law), epsilon)
            assert delta_from_law(turn(back), epsilon) == pytest.approx(
                expected, rel=1e-9, abs=1e-13
            )


@pytest.mark.parametrize("rate", [0.05, 0.6])
def test_atoms_below_the_smallest_ratio_are_charged(rate):
    """An upper law that reaches below 1 - rate still gives a profile above the true one."""
    truth = PAIRS["with mass at zero"]
    upper = subsample(truth, rate)
    # A spread of the lowest atom to both sides, as rounding would make it.
    low = upper.loss[0]
    step = 0.3 * rate
    down, up = low - step, low + step
    share = math.expm1(-step) / (math.expm1(-step) - math.expm1(step))
    loss = np.concatenate(([down, up], upper.loss[1:]))
    q = np.concatenate(([upper.q[0] * (1 - share), upper.q[0] * share], upper.q[1:]))
    order = np.argsort(loss)
    spread = normalised(loss[order], q[order])
    found = condition(spread._replace(p_infinite=upper.p_infinite), rate)
    assert found.q.sum() + found.q_zero == pytest.approx(1.0, rel=1e-12)
    assert found.p.sum() + found.p_infinite == pytest.approx(1.0, rel=1e-12)
    for epsilon in EPSILONS:
        for turn in (lambda x: x, reverse):
            assert delta_from_law(turn(found), epsilon) >= delta_from_law(turn(truth), epsilon) * (
                1 - 1e-12
            )


def test_a_law_that_says_nothing():
    """Less P-mass than would have to be taken: everything fails."""
    law = normalised([-3.0, 0.001], [0.9, 0.1])
    found = condition(law, 0.01)
    assert (found.p_infinite, found.q_zero) == (1.0, 1.0)


@in_one_test
@pytest.mark.parametrize("factor", [1.0, 1 + 1e-9, 1.3])
@pytest.mark.parametrize("name", PAIRS)
def test_outwards_keeps_masses_and_dominates(name, factor):
    """P-mass and Q-mass stay, and no delta falls."""
    law = PAIRS[name]
    moved = spread_outwards(law, law.loss * factor)
    assert moved.p.sum() + moved.p_infinite == pytest.approx(1.0, rel=1e-13)
    assert moved.q.sum() + moved.q_zero == pytest.approx(1.0, rel=1e-13)
    for epsilon in EPSILONS:
        for turn in (lambda x: x, reverse):
            assert delta_from_law(turn(moved), epsilon) >= delta_from_law(turn(law), epsilon) * (
                1 - 1e-14
            )


def test_an_atom_may_be_moved_to_zero():
    """Its Q-mass is at LR = 0 up to the share that keeps the mean."""
    law = PAIRS["far"]
    loss = np.where(law.loss < -20, -np.inf, law.loss)
    moved = spread_outwards(law, loss)
    assert moved.q_zero == pytest.approx(0.01, rel=1e-12)
    assert moved.p.sum() + moved.p_infinite == pytest.approx(1.0, rel=1e-14)
