"""MinSep: Poisson sampling with an exclusion period after each participation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import MinSep, Poisson

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""

rates = st.floats(1e-3, 1.0)
separations = st.integers(1, 8)


def participations(scheme: MinSep, *, examples: int, steps: int, rng: int) -> np.ndarray[Any, Any]:
    """A matrix of zeros and ones: who joined which step."""
    joined = np.zeros((examples, steps), dtype=np.int64)
    for step, batch in enumerate(scheme.batches(examples=examples, steps=steps, rng=rng)):
        joined[batch, step] = 1
    return joined


def pattern_law(rate: float, separation: int, steps: int, *, warm: bool) -> dict[Any, float]:
    """The probability of each pattern of participations, over all outcomes of all draws."""
    free = 1 / (1 + (separation - 1) * rate) if warm else 1.0
    start = {0: free} | {r: free * rate for r in range(1, separation) if warm}
    law: dict[Any, float] = {}
    for (excluded, weight), draws in itertools.product(
        start.items(), itertools.product([0, 1], repeat=steps)
    ):
        left, pattern = excluded, []
        for drawn in draws:
            joins = drawn == 1 and left == 0
            left = separation - 1 if joins else max(left - 1, 0)
            pattern.append(int(joins))
        odds = math.prod(rate if drawn else 1 - rate for drawn in draws)
        law[tuple(pattern)] = law.get(tuple(pattern), 0.0) + weight * odds
    return law


@given(rates, separations, st.booleans(), st.integers(1, 40), st.integers(0, 2**64))
def test_the_separation_is_never_violated(
    rate: float, separation: int, warm: bool, steps: int, seed: int
) -> None:
    """Among any `separation` steps in a row an example joins at most one."""
    scheme = MinSep(rate=rate, separation=separation, warm_start=warm)
    joined = participations(scheme, examples=30, steps=steps, rng=seed)
    for row in joined:
        assert np.all(np.diff(np.flatnonzero(row)) >= separation)


@given(rates, separations, st.integers(1, 4), st.integers(1, 40), st.integers(0, 2**64))
def test_nobody_joins_more_often_than_allowed(
    rate: float, separation: int, most: int, steps: int, seed: int
) -> None:
    """With a cap the run is that without, up to each example's last allowed participation."""
    arguments = {"examples": 20, "steps": steps, "rng": seed}
    capped = MinSep(rate=rate, separation=separation, max_participations=most)
    joined = participations(capped, **arguments)
    free = participations(MinSep(rate=rate, separation=separation), **arguments)
    assert np.array_equal(joined, free * (free.cumsum(axis=1) <= most))
    assert joined.sum(axis=1).max() <= capped.most_participations(steps) <= most


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize(("rate", "separation"), [(0.3, 3), (0.7, 2), (0.5, 4)])
def test_the_first_steps_follow_the_enumerated_law(
    rate: float, separation: int, warm: bool
) -> None:
    """Patterns of five steps, among 60,000 examples."""
    scheme = MinSep(rate=rate, separation=separation, warm_start=warm)
    joined = participations(scheme, examples=60_000, steps=5, rng=3)
    law = pattern_law(rate, separation, 5, warm=warm)
    assert math.isclose(sum(law.values()), 1, rel_tol=1e-12)
    possible = {pattern: p for pattern, p in law.items() if p > 0}
    seen, counts = np.unique(joined, axis=0, return_counts=True)
    observed = dict.fromkeys(possible, 0) | {
        tuple(row): int(n) for row, n in zip(seen.tolist(), counts, strict=True)
    }
    assert observed.keys() == possible.keys()
    expected = [60_000 * possible[pattern] for pattern in observed]
    assert stats.chisquare(list(observed.values()), expected).pvalue > ALARM


@pytest.mark.parametrize("step", [0, 1, 7, 15, 40])
def test_warm_batches_have_the_stationary_size_in_every_step(step: int) -> None:
    """The size is binomial with the participation rate, in the first step as in late ones."""
    scheme = MinSep(rate=0.2, separation=8)
    assert math.isclose(scheme.participation_rate, 0.2 / 2.4, rel_tol=1e-15)
    sizes = [batch.size for batch in scheme.batches(examples=200_000, steps=41, rng=5)]
    law = stats.binom(200_000, scheme.participation_rate)
    assert 2 * min(law.cdf(sizes[step]), law.sf(sizes[step] - 1)) > ALARM


def test_cold_batches_are_larger_at_first() -> None:
    """Everyone may join the first step; that is what the warm start avoids."""
    scheme = MinSep(rate=0.2, separation=8, warm_start=False)
    sizes = [batch.size for batch in scheme.batches(examples=100_000, steps=3, rng=5)]
    law = stats.binom(100_000, 0.2)
    assert 2 * min(law.cdf(sizes[0]), law.sf(sizes[0] - 1)) > ALARM
    assert sizes[0] > sizes[1] > sizes[2] > 1.2 * scheme.expected_batch_size(100_000)


def test_rate_one_from_a_warm_start_is_balls_in_bins() -> None:
    """Each example joins exactly the steps of one residue, and all residues are equally likely."""
    joined = participations(MinSep(rate=1, separation=6), examples=30_000, steps=20, rng=2)
    first = joined.argmax(axis=1)
    assert np.array_equal(joined, (np.arange(20) - first[:, None]) % 6 == 0)
    assert stats.chisquare(np.bincount(first, minlength=6)).pvalue > ALARM


def test_rate_one_from_a_cold_start_is_known() -> None:
    """Everyone joins the steps 0, 3, 6, ... and nobody any other."""
    scheme = MinSep(rate=1, separation=3, warm_start=False)
    sizes = [batch.size for batch in scheme.batches(examples=10, steps=7)]
    assert sizes == [10, 0, 0, 10, 0, 0, 10]
    assert scheme.participation_known
    assert not MinSep(rate=1, separation=3).participation_known
    assert not MinSep(rate=0.9, separation=3, warm_start=False).participation_known
    assert MinSep(rate=1, separation=1).participation_known


@given(rates, st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**64))
def test_separation_one_is_poisson(rate: float, examples: int, steps: int, seed: int) -> None:
    """Without exclusion the batches are those of Poisson sampling, draw for draw."""
    arguments: dict[str, Any] = {"examples": examples, "steps": steps, "rng": seed}
    rested = MinSep(rate=rate, separation=1).batches(**arguments)
    plain = Poisson(rate=rate).batches(**arguments)
    assert [b.tolist() for b in rested] == [b.tolist() for b in plain]


@given(st.integers(1, 9), st.integers(1, 40))
def test_participations_fit_into_the_run(separation: int, steps: int) -> None:
    """Rate 1 from a cold start reaches the bound exactly."""
    scheme = MinSep(rate=1, separation=separation, warm_start=False)
    joined = participations(scheme, examples=1, steps=steps, rng=0)
    assert joined.sum() == scheme.most_participations(steps)
    assert scheme.least_gap == separation


@given(st.floats(1e-9, 1.0), separations, st.integers(1, 10**9))
def test_for_batch_size_inverts_the_expectation(
    share: float, separation: int, examples: int
) -> None:
    """The expected batch size is the wanted one, up to examples / separation."""
    size = share * (examples / separation)
    scheme = MinSep.for_batch_size(size, examples=examples, separation=separation)
    assert math.isclose(scheme.expected_batch_size(examples), size, rel_tol=1e-12)


@pytest.mark.parametrize("size", [25.001, 26, 100])
def test_a_batch_that_the_separation_forbids_is_refused(size: float) -> None:
    """A hundred examples that join every fourth step at most give batches of up to 25."""
    with pytest.raises(
        InvalidParameter, match=r"batch_size must be in \(0, examples/separation=25"
    ):
        MinSep.for_batch_size(size, examples=100, separation=4)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("rate", [0, -0.1, 1.01, math.nan, "0.5", None]),
        ("separation", [0, -1, 2.0, math.nan, True, None]),
        ("max_participations", [0, -1, 2.0, math.nan, True]),
        ("warm_start", [0, 1, "yes", None, math.nan]),
    ],
)
def test_bad_parameters_are_refused(name: str, bad: list[Any]) -> None:
    """Each is named in the error."""
    for value in bad:
        with pytest.raises(InvalidParameter, match=rf"^{name} must be"):
            MinSep(**{"rate": 0.5, "separation": 4, name: value})


def test_description() -> None:
    """Plain values, without what does not apply."""
    scheme = MinSep(rate=0.25, separation=np.int64(4))  # type: ignore[arg-type]
    expected = {"scheme": "min-sep", "rate": 0.25, "separation": 4, "warm_start": True}
    assert scheme.describe() == expected
    assert scheme.unit == "example"
