"""Domination by a Levy process: nothing is missed, little is overpaid."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import hockeystick as hs
from hockeystick._numerics.law import Side, from_losses
from hockeystick.filters import LevyProcess
from hockeystick.filters.levy.charge import (
    beside_catalyst,
    block_of,
    block_variance,
    catalyst_for,
    charge_of,
    covers,
    curves_of,
    rounded_up,
    smallest_time,
)
from in_one_test import in_one_test

# Designed for rate 0.01 and noise between 1.4 and 2.5, one step at a time.
SINGLE = LevyProcess(
    gaussian=4.253e-5,
    unit=0.00448,
    sizes=(1, 19, 24, 68, 84, 104),
    rates=(1.287, 2.981e-4, 3.238e-4, 1.716e-7, 2.455e-10, 4.654e-10),
    killing=6.932e-11,
    catalyst=0.002815,
)


def test_gaussians_cost_their_squares() -> None:
    """With and without a catalyst: mu^2 over the variance per time, hardly more, never less."""
    process = LevyProcess(gaussian=0.5, killing=1e-12, catalyst=0.3)
    for catalyst in (0.0, 0.3):
        law = beside_catalyst(block_of(1.0, 2.0, 1), catalyst=catalyst, variance=0.25, tail=1e-20)
        time = smallest_time(process, curves_of(law), catalyst=catalyst, guess=1.0, limit=9.0)
        assert 0.5 <= time <= 0.5 * 1.005


def test_between_corners() -> None:
    """A chord that touches the profile at two corners lies above it in between: not covered."""
    process = LevyProcess(gaussian=0.25, killing=1e-6)
    pair = process.pair(1.0)
    loss = np.array([0.1, 0.9])
    call = np.array([pair.closed_form(x, reverse=False) for x in loss]) - pair.killed
    # Two atoms on either side whose profile passes just below both points.
    ratio = np.exp([0.1, 0.9, 1.6])
    tail = call[1] / (ratio[2] - ratio[1])
    middle = (call[0] - tail * (ratio[2] - ratio[0])) / (ratio[1] - ratio[0])
    q = np.array([middle, tail]) * (1 - 1e-6)
    p = q * ratio[1:]
    rest_p, rest_q = 1 - p.sum(), 1 - q.sum()
    low = math.log(rest_p / rest_q)
    law = from_losses(np.array([low, 0.9, 1.6]), np.array([rest_q, *p]))
    curves = curves_of(law)
    at = np.searchsorted(curves[0].loss, 0.9)
    assert curves[0].height[at] <= pair.closed_form(0.9, reverse=False)
    assert not covers(pair, curves)
    assert covers(process.pair(4.0), curves)


def test_what_is_certain_must_be_killed() -> None:
    """P-mass at infinity, or Q-mass at zero, needs as much killing."""
    process = LevyProcess(gaussian=0.25, killing=1e-3)
    for law in (
        from_losses(np.zeros(1), np.array([1 - 2e-3]), p_infinite=2e-3, q_zero=2e-3),
        hs.Profile.from_epsilon_delta(0.01, 2e-3).expression.law(Side.UPPER, None),
    ):
        assert not covers(process.pair(1.9), curves_of(law))
        assert covers(process.pair(2.1), curves_of(law))


def profile_by_quadrature(rate: float, mu: float, catalyst: float, epsilon: np.ndarray):
    """H of the sampled Gaussian beside a Gaussian pair, both directions, by a fine sum over z."""
    z = np.linspace(-12.0, 12.0 + mu, 6001)
    q = norm.pdf(z) * (z[1] - z[0])
    loss = np.log1p(rate * np.expm1(mu * z - mu**2 / 2))
    root = math.sqrt(catalyst)
    found = []
    for sign, weight in ((-1, q * np.exp(loss)), (1, q)):
        gap = epsilon[:, None] + sign * loss
        a = root / 2 - gap / root
        found.append((norm.cdf(a) - np.exp(gap) * norm.cdf(a - root)) @ weight)
    return found


@pytest.mark.parametrize("noise", [1.6, 2.2])
def test_the_charge_dominates_and_is_tight(noise: float) -> None:
    """Against a quadrature at many epsilons: covered at the charge, not at 2 % below it."""
    variance = block_variance(0.01, noise, 1)
    catalyst = catalyst_for(SINGLE.catalyst, variance)
    time = charge_of(SINGLE, block_of(0.01, noise, 1), limit=100.0, variance=variance)
    epsilon = np.linspace(0.0, 0.7, 160)
    truth = profile_by_quadrature(0.01, 1 / noise, catalyst, epsilon)

    def short(at: float) -> bool:
        pair = SINGLE.pair(at, catalyst=catalyst)
        heights = [[pair.closed_form(x, reverse=back) for x in epsilon] for back in (False, True)]
        return bool(np.any(np.array(heights) < np.array(truth) * (1 - 1e-9)))

    assert not short(time)
    assert short(0.98 * time)
    assert time < 1.2 * variance / SINGLE.variance


def test_blocks_are_cheaper_than_their_steps() -> None:
    """A hundred steps at once cost less than one at a time, and more than their variance."""
    one = charge_of(
        SINGLE, block_of(0.01, 2.0, 1), limit=1e3, variance=block_variance(0.01, 2.0, 1)
    )
    many = charge_of(
        SINGLE, block_of(0.01, 2.0, 100), limit=1e3, variance=block_variance(0.01, 2.0, 100)
    )
    assert 100 * block_variance(0.01, 2.0, 1) / SINGLE.variance < many < 100 * one


def test_charges_without_killing_or_beyond_the_limit() -> None:
    """Both are infinite."""
    block = block_of(0.01, 2.0, 1)
    kept = replace(SINGLE, killing=0.0)
    assert charge_of(kept, block, limit=1e3) == math.inf
    assert charge_of(SINGLE, block, limit=1e-3) == math.inf


@in_one_test
@pytest.mark.parametrize("value", [0.01, 0.0123456, 0.99999, 1.0, 1.5, 2.46123, 123456.0, 1e-7])
def test_settings_are_rounded_to_the_more_expensive_side(value: float) -> None:
    """Rates up, noise down, by less than a thousandth; short numbers stay."""
    rate, noise = rounded_up(min(value, 1.0), value)
    assert min(value, 1.0) <= rate <= min(value, 1.0) * (1 + 1.1e-3)
    assert value * (1 - 1.1e-3) <= noise <= value
    assert rate <= 1
    assert rounded_up(0.01, 1.5) == (0.01, 1.5)
