"""Every adaptive strategy that the Levy filter permits, on mechanisms with a few outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded

Pair = tuple[np.ndarray, np.ndarray]

PROCESS = filters.LevyProcess(
    gaussian=0.1,
    unit=0.1,
    sizes=(1, 2, 4, 8, 16),
    rates=(0.5, 0.25, 0.08, 0.04, 0.01),
    killing=1e-3,
    catalyst=0.05,
)
EPSILON, DELTA = 1.0, 0.1


def worst_delta(
    pairs: Sequence[Pair], charges: Sequence[float], *, budget: float, epsilon: float
) -> float:
    """max over strategies of E_Q(LR - e^epsilon)+, by going through all of them.

    After each output the adversary may choose any mechanism that still fits, or stop. What is left
    and the ratio so far are all that matters.
    """
    gamma = math.exp(epsilon)

    @cache
    def value(counts: tuple[int, ...], log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        best = max(ratio - gamma, 0.0)
        spent = math.fsum(n * charge for n, charge in zip(counts, charges, strict=True))
        for index, (given, without) in enumerate(pairs):
            if spent + charges[index] > budget:
                continue
            after = tuple(n + (k == index) for k, n in enumerate(counts))
            total = sum(
                b * value(after, round(log_ratio + math.log(a / b), 12))
                for a, b in zip(given, without, strict=True)
            )
            best = max(best, total)
        return best

    return value((0,) * len(pairs), 0.0)


def binned(rate: float, noise: float, cuts: Sequence[float]) -> Pair:
    """The bins of a sampled Gaussian: what is computed from its output is no less private."""
    edges = np.array([-math.inf, *cuts, math.inf])
    without = np.diff(norm.cdf(edges))
    return (1 - rate) * without + rate * np.diff(norm.cdf(edges - 1 / noise)), without


DISCRETE: list[Pair] = [
    (np.array([0.56, 0.44]), np.array([0.44, 0.56])),
    (np.array([0.1, 0.9]), np.array([0.04, 0.96])),
    (np.array([0.45, 0.33, 0.22]), np.array([0.28, 0.35, 0.37])),
]
SAMPLED = [(0.5, 1.5), (0.2, 0.8), (1.0, 3.5)]


def made() -> filters.Levy:
    """A filter with a small budget."""
    return filters.Levy(epsilon=EPSILON, delta=DELTA, process=PROCESS)


def charges_of(requests: Sequence[dict[str, object]]) -> tuple[filters.Levy, list[float]]:
    """The filter, and what it charges for each request."""
    return made(), [made().request(**request).charge for request in requests]


def assert_no_strategy_exceeds(
    pairs: Sequence[Pair], f: filters.Levy, charges: Sequence[float]
) -> None:
    """No strategy exceeds the guarantee at any epsilon; a third of the charges would not do."""
    guarantee = f.guarantee()
    nearest = 0.0
    for directed in (list(pairs), [(q, p) for p, q in pairs]):
        for epsilon in (0.2, EPSILON, 1.6):
            found = worst_delta(directed, charges, budget=f.budget, epsilon=epsilon)
            assert found <= guarantee.delta(epsilon)
            nearest = max(nearest, found / guarantee.delta(epsilon))
    assert nearest > 0.3
    found = worst_delta(
        pairs[:2], [charge / 3 for charge in charges[:2]], budget=f.budget, epsilon=1
    )
    assert found > guarantee.delta(1.0)


@pytest.mark.slow
def test_discrete_mechanisms() -> None:
    """Profiles of discrete pairs, in both directions."""
    f, charges = charges_of([{"profile": hs.Profile.from_pmfs(p, q)} for p, q in DISCRETE])
    assert_no_strategy_exceeds(DISCRETE, f, charges)


@pytest.mark.slow
def test_sampled_gaussians() -> None:
    """Requests by rate and noise, seen through a few bins."""
    f, charges = charges_of(
        [{"rate": rate, "noise_multiplier": noise, "clip": False} for rate, noise in SAMPLED]
    )
    pairs = [binned(rate, noise, (0.5 / noise + 0.6,)) for rate, noise in SAMPLED]
    assert_no_strategy_exceeds(pairs, f, charges)


def test_no_more_is_permitted_than_the_charges_say() -> None:
    """The filter stops where the sum of the charges would exceed the budget."""
    f = made()
    profile = hs.Profile.from_pmfs(*DISCRETE[0])
    charge, count = f.request(profile=profile).charge, 1
    ask: Callable[[], object] = lambda: f.request(profile=profile)  # noqa: E731
    while f.remaining >= charge:
        ask()
        count += 1
    with pytest.raises(BudgetExceeded):
        ask()
    assert count == math.floor(f.budget / charge)
