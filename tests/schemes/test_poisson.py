"""Poisson: each example independently in each step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Poisson
from in_one_test import in_one_test

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""


def masks(rate: float, *, examples: int, steps: int, seed: int) -> np.ndarray[Any, Any]:
    """Each batch of few examples as a bit mask."""
    batches = Poisson(rate=rate).batches(examples=examples, steps=steps, rng=seed)
    return np.array([(1 << batch).sum() for batch in batches])


def subset_law(rate: float, examples: int) -> np.ndarray[Any, Any]:
    """Probability of each bit mask when the examples are independent."""
    sizes = np.array([mask.bit_count() for mask in range(1 << examples)])
    return rate**sizes * (1 - rate) ** (examples - sizes)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_examples_are_independent(rate: float) -> None:
    """All sixteen subsets of four examples come up with the product law's frequencies."""
    observed = np.bincount(masks(rate, examples=4, steps=20_000, seed=1), minlength=16)
    assert stats.chisquare(observed, 20_000 * subset_law(rate, 4)).pvalue > ALARM


def test_steps_are_independent() -> None:
    """The joint law of two successive batches of two examples is the product law."""
    pairs = masks(0.4, examples=2, steps=40_000, seed=2).reshape(-1, 2)
    observed = np.bincount(4 * pairs[:, 0] + pairs[:, 1], minlength=16)
    law = subset_law(0.4, 2)
    assert stats.chisquare(observed, len(pairs) * np.outer(law, law).ravel()).pvalue > ALARM


@pytest.mark.parametrize(
    ("examples", "rate", "steps"),
    [(300, 0.02, 4000), (20_000, 0.005, 1000), (20_000, 0.3, 60), (500, 0.95, 1000)],
)
def test_inclusion_frequencies(examples: int, rate: float, steps: int) -> None:
    """Every example is drawn equally often, with binomial spread, in all regimes of the sampler."""
    joined = np.concatenate(list(Poisson(rate=rate).batches(examples=examples, steps=steps, rng=3)))
    counts = np.bincount(joined, minlength=examples)
    spread = ((counts - steps * rate) ** 2).sum() / (steps * rate * (1 - rate))
    # The variance of the statistic, with the binomial's excess kurtosis.
    excess = (1 - 6 * rate * (1 - rate)) / (steps * rate * (1 - rate))
    assert abs(spread - examples) <= 6 * math.sqrt(examples * (2 + excess))


@pytest.mark.parametrize(("examples", "rate"), [(300, 0.02), (20_000, 0.005), (500, 0.95)])
def test_batch_sizes_are_binomial(examples: int, rate: float) -> None:
    """Mean and variance of the batch size are those of Binomial(examples, rate)."""
    batches = Poisson(rate=rate).batches(examples=examples, steps=3000, rng=4)
    sizes = np.array([len(batch) for batch in batches])
    law = stats.binom(examples, rate)
    assert abs(sizes.mean() - law.mean()) <= 6 * law.std() / math.sqrt(3000)
    assert abs(sizes.var() / law.var() - 1) <= 6 * math.sqrt(2.2 / 3000)


@given(st.integers(1, 50), st.integers(1, 20))
def test_rate_one_draws_everything(examples: int, steps: int) -> None:
    """At rate 1 each batch holds all the examples."""
    batches = [b.tolist() for b in Poisson(rate=1).batches(examples=examples, steps=steps)]
    assert batches == [list(range(examples))] * steps


@pytest.mark.parametrize(("rate", "size"), [(5e-324, 0), (1 - 2**-53, 1000)])
def test_extreme_rates(rate: float, size: int) -> None:
    """The smallest rate draws nothing and the largest below one draws all (but for 1 in 1e12)."""
    batches = Poisson(rate=rate).batches(examples=1000, steps=20, rng=5)
    assert [len(batch) for batch in batches] == [size] * 20


@given(st.floats(1e-300, 1.0), st.integers(1, 10**9))
def test_for_batch_size_inverts_the_expectation(share: float, examples: int) -> None:
    """The expected batch size of the constructed scheme is the wanted one."""
    size = share * examples
    scheme = Poisson.for_batch_size(size, examples=examples)
    assert math.isclose(scheme.expected_batch_size(examples), size, rel_tol=1e-14)


def test_for_batch_size_of_the_whole_data() -> None:
    """A batch as large as the data gives rate 1 exactly."""
    assert Poisson.for_batch_size(49, examples=49) == Poisson(rate=1.0)


@in_one_test
@pytest.mark.parametrize("bad", [0, -0.1, 1.0000001, 2, math.nan, math.inf, "0.5", None])
def test_bad_rates_are_refused(bad: Any) -> None:
    """A rate is a number in (0, 1]."""
    with pytest.raises(InvalidParameter, match=r"^rate must be in \(0, 1\]"):
        Poisson(rate=bad)


def test_numbers_are_normalised() -> None:
    """The rate is stored as a plain float, so that equal schemes compare equal."""
    scheme = Poisson(rate=np.float32(0.5))  # type: ignore[arg-type]
    assert type(scheme.rate) is float
    assert scheme == Poisson(rate=0.5)


def test_every_step_can_be_a_participation() -> None:
    """Nothing limits how often an example is drawn."""
    assert Poisson(rate=0.01).most_participations(17) == 17


def test_description() -> None:
    """The name and the rate."""
    assert Poisson(rate=0.25).describe() == {"scheme": "poisson", "rate": 0.25}
