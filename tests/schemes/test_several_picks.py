"""Several picks out of a block: bounds from both sides, beside enumeration and draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hockeystick as hs
from references.sum_law import band

CASES = [(2, 3), (3, 4), (2, 4), (5, 8), (3, 8), (12, 16)]
DRAWS = 30_000


def plan_of(picks: int, out_of: int, *, blocks: int = 1) -> hs.Plan:
    """Random allocation with independent noise."""
    sampling = hs.RandomAllocation(picks=picks, out_of=out_of)
    return hs.Plan(sampling=sampling, steps=blocks * out_of)


def ratios(picks: int, out_of: int, noise: float, *, remove: bool) -> np.ndarray:
    """LR, the elementary symmetric mean of the steps' ratios; with the example, in the first."""
    mu = 1 / noise
    y = np.random.default_rng([picks, out_of]).standard_normal((out_of, DRAWS))
    if remove:
        y[:picks] += mu
    sums = np.zeros((picks + 1, DRAWS))
    sums[0] = 1.0
    for row in np.exp(mu * y - mu * mu / 2):
        sums[1:] += sums[:-1] * row
    return sums[picks] / math.comb(out_of, picks)


@pytest.mark.slow
@pytest.mark.parametrize(("picks", "out_of"), CASES)
@pytest.mark.parametrize("noise", [0.8, 2.5])
def test_both_bounds_against_draws(picks: int, out_of: int, noise: float) -> None:
    """Neither side of delta is on the wrong side of a band, in both directions."""
    claim = hs.account(plan_of(picks, out_of), noise_multiplier=noise, method="profile")
    for epsilon in (0.3, 2.0):
        answers = {}
        for direction in ("remove", "add"):
            one = hs.account(
                plan_of(picks, out_of),
                noise_multiplier=noise,
                method="profile",
                direction=direction,
            )
            answers[direction] = one.answer(epsilon=epsilon)
            remove = direction == "remove"
            low, high = band(ratios(picks, out_of, noise, remove=remove), epsilon, remove=remove)
            assert answers[direction].value >= low
            assert answers[direction].lower is not None
            assert answers[direction].lower <= high
        assert claim.delta(epsilon) == pytest.approx(answers["remove"].value, rel=1e-3)


@pytest.mark.parametrize(("picks", "out_of"), [(2, 3), (3, 4), (4, 6), (5, 7)])
def test_the_steps_left_out_are_as_good(picks: int, out_of: int) -> None:
    """Inner products of any two choices are those of what they leave out, and a constant."""
    chosen = [set(one) for one in itertools.combinations(range(out_of), picks)]
    every = set(range(out_of))
    for one, other in itertools.product(chosen, chosen):
        left = len((every - one) & (every - other))
        assert len(one & other) == left + 2 * picks - out_of


@pytest.mark.parametrize("blocks", [1, 3])
def test_all_but_one_is_exact(blocks: int) -> None:
    """One step hidden and the others known: upper and lower bound agree."""
    claim = hs.account(plan_of(4, 5, blocks=blocks), noise_multiplier=2.0, method="profile")
    answer = claim.answer(delta=1e-4)
    assert answer.lower == pytest.approx(answer.value, rel=2e-3)
    known = hs.Profile.gaussian(noise_multiplier=2.0).self_compose(3 * blocks)
    hidden = hs.Profile.gaussian(noise_multiplier=2.0).allocate(5).self_compose(blocks)
    assert answer.value == pytest.approx(hidden.compose(known).epsilon(1e-4), rel=2e-3)


def test_twelve_of_sixteen() -> None:
    """The interval is narrow, and far below what twelve parallel allocations give."""
    answer = hs.account(plan_of(12, 16), noise_multiplier=3.0).answer(delta=1e-3)
    assert answer.lower is not None
    assert 3.13 < answer.lower < answer.value < 3.152


def test_other_mechanisms_are_not_turned_around() -> None:
    """The identity is one of Gaussian mixtures: Laplace noise keeps its parallel allocations."""
    mechanism = hs.Profile.laplace(scale=1.0)
    sampling = hs.RandomAllocation(picks=3, out_of=4)
    plan = hs.Plan(sampling=sampling, steps=4, mechanism=mechanism)
    parts = mechanism.allocate(2).compose(mechanism.self_compose(2))
    assert hs.account(plan, method="profile").epsilon(1e-3) == pytest.approx(
        parts.symmetrize().epsilon(1e-3), rel=2e-3
    )
