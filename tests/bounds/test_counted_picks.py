"""Several picks beside Poisson sampling: enumeration on tiny blocks, draws on larger ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.bounds.counted_picks import (
    CountedPicks,
    _tails,
    counted_delta,
    counted_epsilon,
)
from references.sum_law import band

RATES = (0.05, 0.3, 0.6)


def symmetric_mean(ratios: tuple[float, ...], picks: int) -> float:
    """The mean over all sets of `picks` ratios of their product."""
    sets = list(itertools.combinations(ratios, picks))
    return sum(math.prod(one) for one in sets) / len(sets)


def outcomes(
    p: float, q: float, picks: int, out_of: int, blocks: int
) -> Iterator[tuple[float, float]]:
    """LR and probability without the example, of a step that answers 1 with chance p, or q."""
    block = [
        (
            symmetric_mean(tuple(p / q if x else (1 - p) / (1 - q) for x in row), picks),
            math.prod(q if x else 1 - q for x in row),
        )
        for row in itertools.product((0, 1), repeat=out_of)
    ]
    for rows in itertools.product(block, repeat=blocks):
        yield math.prod(one[0] for one in rows), math.prod(one[1] for one in rows)


@pytest.mark.parametrize(
    ("picks", "out_of", "blocks"),
    [(1, 2, 1), (2, 3, 1), (2, 4, 1), (3, 5, 1), (4, 5, 1), (2, 3, 2), (1, 3, 3)],
)
@pytest.mark.parametrize(("p", "q"), [(0.6, 0.4), (0.9, 0.2), (0.3, 0.01)])
def test_above_enumeration(picks: int, out_of: int, blocks: int, p: float, q: float) -> None:
    """Removing, with steps of two outcomes: every rate bounds delta, and epsilon, from above."""
    step = hs.Profile.from_pmfs([p, 1 - p], [q, 1 - q])
    counted = CountedPicks(picks, out_of, blocks, step)
    law = list(outcomes(p, q, picks, out_of, blocks))
    for epsilon, rate in itertools.product((0.0, 0.1, 0.5, 1.5, 4.0), RATES):
        truth = sum(w * max(ratio - math.exp(epsilon), 0.0) for ratio, w in law)
        assert counted_delta(counted, rate, epsilon, 1e-3) >= truth * (1 - 1e-12)
        if truth > 1e-9:
            assert counted_epsilon(counted, rate, truth, 1e-3) >= epsilon * (1 - 1e-12)


def drawn_ratios(picks: int, out_of: int, blocks: int, noise: float) -> np.ndarray:
    """LR with the example, by draws: products over blocks of elementary symmetric means."""
    draws, mu = 20_000, 1 / noise
    y = np.random.default_rng([picks, out_of]).standard_normal((blocks, out_of, draws))
    y[:, :picks] += mu
    result = np.ones(draws)
    for block in np.exp(mu * y - mu * mu / 2):
        sums = np.zeros((picks + 1, draws))
        sums[0] = 1.0
        for row in block:
            sums[1:] += sums[:-1] * row
        result *= sums[picks] / math.comb(out_of, picks)
    return result


@pytest.mark.parametrize(("picks", "out_of", "blocks"), [(8, 16, 1), (8, 16, 3), (12, 16, 1)])
@pytest.mark.parametrize("noise", [0.7, 2.0])
def test_above_draws(picks: int, out_of: int, blocks: int, noise: float) -> None:
    """Gaussian noise: no rate gives less than the lower end of a band around what was drawn."""
    counted = CountedPicks(picks, out_of, blocks, hs.Profile.gaussian(noise_multiplier=noise))
    ratios = drawn_ratios(picks, out_of, blocks, noise)
    for epsilon in (0.5, 4.0):
        low, _ = band(ratios, epsilon, remove=True)
        assert all(counted_delta(counted, rate, epsilon, 1e-3) >= low for rate in RATES)


def test_both_questions_agree() -> None:
    """delta at the epsilon that was found is the delta that was asked for."""
    counted = CountedPicks(8, 32, 2, hs.Profile.gaussian(noise_multiplier=0.8))
    epsilon = counted_epsilon(counted, 0.2, 1e-6, 1e-4)
    assert counted_delta(counted, 0.2, epsilon, 1e-4) == pytest.approx(1e-6, rel=2e-2)


def test_half_of_many_steps() -> None:
    """512 parallel allocations of one step out of two have 228.2."""
    sampling = hs.RandomAllocation(picks=512, out_of=1_024)
    plan = hs.Plan(sampling=sampling, steps=1_024)
    answer = hs.account(plan, noise_multiplier=1.0, method="profile").answer(delta=1e-5)
    assert answer.lower is not None
    assert answer.lower < answer.value < 221.0
    assert 0.45 < answer.details["poisson_rate"] < 0.49


def test_a_rate_at_which_so_many_picks_never_happen_says_nothing():
    """Pr[J >= k] underflows: no division makes that a claim."""
    picks = CountedPicks(
        picks=3, out_of=10, blocks=1, step=hs.Profile.gaussian(noise_multiplier=1.0)
    )
    assert counted_delta(picks, 1e-305, 60.0, 1e-3) == 1.0


@pytest.mark.parametrize(
    ("noise", "rate", "epsilon"),
    [(1e3, 1e-13, 2.82842712474619e-3), (1e5, 1e-9, 7.0710678e-6), (1e6, 1e-9, 1.414213562e-6)],
)
def test_rare_draws_lose_no_digits(noise: float, rate: float, epsilon: float) -> None:
    """log c is far below 1 and keeps its relative accuracy: never below the exact value."""
    step = hs.Profile.gaussian(noise_multiplier=noise)
    claim = counted_delta(CountedPicks(1, 2, 1, step), rate, epsilon, 1e-2)
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=2), steps=2)
    assert claim >= hs.account(plan, noise_multiplier=noise).answer(epsilon=epsilon).lower > 0


@pytest.mark.parametrize(("out_of", "picks"), [(10**6, 34578), (10**7, 4148)])
def test_tails_of_many_steps_are_not_above_the_exact_ones(out_of: int, picks: int) -> None:
    """Where SciPy's are: at rates with tails that are off by 2e-9 and 3e-8."""
    rate = {10**6: 0.033475975192740606, 10**7: 0.0004041232940217183}[out_of]
    step = hs.Profile.gaussian(noise_multiplier=1.0)
    found = _tails(CountedPicks(picks, out_of, 1, step), rate)[-1]
    with mpmath.workdps(30):
        q = mpmath.mpf(rate)
        term = mpmath.binomial(out_of, picks) * q**picks * (1 - q) ** (out_of - picks)
        exact = mpmath.mpf(0)
        for j in itertools.count(picks):
            exact += term
            term *= mpmath.mpf(out_of - j) / (j + 1) * q / (1 - q)
            if term < exact * mpmath.mpf(10) ** -20:
                break
        assert 1 - 1e-6 < found / exact < 1


@pytest.mark.parametrize(
    ("out_of", "epsilon"), [(4, 5e-324), pytest.param(2**31, 0.5, marks=pytest.mark.slow)]
)
def test_extreme_requests_are_answered(out_of: int, epsilon: float) -> None:
    """Epsilons that vanish beside k, and blocks that are left to the other bound."""
    sampling = hs.RandomAllocation(picks=2, out_of=out_of, truncate=True)
    guarantee = hs.account(hs.Plan(sampling=sampling, steps=4), noise_multiplier=1.0)
    assert 0 < guarantee.delta(epsilon) < 1
