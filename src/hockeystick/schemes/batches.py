"""Batches, and the draws that several schemes share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick._process import SingleUse
from hockeystick._validate import positive, positive_integer
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.randomness import Key

__all__ = [
    "SORTED_UP_TO",
    "TAIL_ROUNDING",
    "Batches",
    "Indices",
    "batch_size_within",
    "capped_mean",
    "capped_subset",
    "chance_of_full",
    "independent_subset",
    "members_by_bin",
    "nearest_divisor",
    "participations_within",
    "same_members_again",
    "smallest_cap",
]

Indices: TypeAlias = npt.NDArray[np.int64]
"""A batch: the numbers of its examples, from 0."""


# Up to here examples are sorted by their bins at once: 18 bytes each, a quarter of a second.
SORTED_UP_TO = 2**22
# Probabilities of large batches are rounded up by more than their relative error.
TAIL_ROUNDING = 1e-9


class Batches(SingleUse, Iterator[Indices]):
    """An iterator over the batches of `steps` steps, for the process that asked for them.

    A scheme that draws more or fewer is refused at the end: it is not what was accounted.
    """

    what = "The sequence of batches"

    def __init__(self, drawn: Iterator[Indices], steps: int) -> None:
        self._drawn = drawn
        self._steps = steps
        self._left = steps

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Indices:
        self.check_here()
        batch = next(self._drawn, None)
        if (batch is None) != (self._left == 0):
            count = f"more than {self._steps}" if batch is not None else self._steps - self._left
            raise PlanMismatch(f"The scheme drew {count} batches for {self._steps} steps.")
        if batch is None:
            raise StopIteration
        self._left -= 1
        return batch


def independent_subset(size: int, *, rate: float, rng: np.random.Generator) -> Indices:
    """A sorted subset of range(size) that holds each element independently with probability `rate`.

    Drawn as a binomial count and then a uniform set of that many elements without replacement; the
    law is exact up to the floating-point accuracy of NumPy's binomial generator.
    """
    if rate == 1:
        return np.arange(size, dtype=np.int64)
    count = rng.binomial(size, rate)
    chosen = rng.choice(size, count, replace=False, shuffle=False).astype(np.int64, copy=False)
    chosen.sort()
    return chosen


def capped_subset(size: int, *, rate: float, most: int, rng: np.random.Generator) -> Indices:
    """`independent_subset`, of which `most` are kept uniformly at random where it is larger.

    Given its size the subset is uniform, before and after, so the smaller size is drawn at once.
    """
    count = min(int(rng.binomial(size, rate)) if rate < 1 else size, most)
    chosen = rng.choice(size, count, replace=False, shuffle=False).astype(np.int64, copy=False)
    chosen.sort()
    return chosen


def members_by_bin(
    examples: int, bins: int, *, wanted: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """Who is in the first `wanted` bins, after each example drew one of `bins` uniformly.

    Up to 4 million examples all of them draw at once, and are sorted by their bins: O(examples +
    bins), a quarter of a second. With more, bin after bin: given those before it, bin j (from 0)
    holds a uniform set of Binomial(rest, 1 / (bins - j)) of those that are left. A bin then costs
    what drawing its members costs, and memory is a bit for each example.
    """
    if examples <= SORTED_UP_TO:
        yield from _sorted_by_bin(examples, bins, wanted, rng)
        return
    from hockeystick.schemes.marks import Unmarked

    rest = Unmarked(examples, rng)
    for j in range(wanted):
        last = j == bins - 1
        yield rest.take(rest.left if last else int(rng.binomial(rest.left, 1 / (bins - j))))


def _sorted_by_bin(
    examples: int, bins: int, wanted: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """`members_by_bin` by a counting sort where the bin fits into 16 bits."""
    # The narrowest integers that hold a bin: up to 16 bits the stable sort is a counting sort.
    narrow = np.min_scalar_type(bins - 1)
    bin_of = rng.integers(bins, size=examples, dtype=narrow)
    # Stable, so that indices stay sorted within a bin.
    order = np.argsort(bin_of, kind="stable").astype(np.int64, copy=False)
    ends = np.cumsum(np.bincount(bin_of[bin_of < wanted], minlength=wanted)).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield order[start:end]


def same_members_again(
    examples: int, bins: int, *, steps: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """`members_by_bin`, one bin for each step, over and over.

    Few examples are remembered. With many, every round draws the same numbers again.
    """
    wanted = min(bins, steps)
    if examples <= SORTED_UP_TO:
        found = list(members_by_bin(examples, bins, wanted=wanted, rng=rng))
        for step in range(steps):
            # A copy, so that whoever changes a batch does not change the next round.
            yield found[step % bins].copy()
        return
    key = Key.of(rng)
    for first in range(0, steps, bins):
        left = min(bins, steps - first)
        yield from members_by_bin(examples, bins, wanted=left, rng=key.generator())


def nearest_divisor(total: int, *, target: Fraction) -> int:
    """The positive integer d for which total / d is nearest to `target`; the larger one on a tie.

    Exact rational arithmetic; total / d decreases in d, so only the neighbours of total / target
    qualify.
    """
    floor = math.floor(total / target)
    return min((floor + 1, floor), key=lambda d: abs(Fraction(total, d) - target))


def participations_within(steps: int, *, gap: int, most: int | None) -> int:
    """How often one can take part in so many steps, `gap` apart, and `most` times at most."""
    fitting = -(-steps // gap)
    return fitting if most is None else min(fitting, most)


def batch_size_within(batch_size: float, *, examples: int) -> tuple[float, int]:
    """Both arguments checked: 0 < batch_size <= examples."""
    examples = positive_integer("examples", examples)
    number = positive("batch_size", batch_size)
    if not number <= examples:
        raise InvalidParameter("batch_size", f"in (0, examples={examples}]", batch_size)
    return number, examples


def chance_of_full(others: int, rate: float, cap: int) -> float:
    """The probability that at least `cap` of the others are drawn, rounded up."""
    from scipy.stats import binom

    if cap > others:
        return 0.0
    # What underflows is rounded up, far enough for products with masses not to underflow at once.
    return min(1.0, max(float(binom.sf(cap - 1, others, rate)) * (1 + TAIL_ROUNDING), 1e-300))


def smallest_cap(examples: int, rate: float, *, most: float) -> int:
    """The smallest cap that is reached with a probability of at most `most`."""
    low, high = 0, examples + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if chance_of_full(examples, rate, middle) <= most else (middle, high)
        )
    return high


def capped_mean(examples: int, rate: float, cap: int) -> float:
    """E min(K, cap) for K binomial: E[K; K < cap] through k P(k) = n q P'(k - 1) of n - 1 draws."""
    from scipy.stats import binom

    below = examples * rate * binom.cdf(cap - 2, examples - 1, rate)
    return float(below + cap * binom.sf(cap - 1, examples, rate))
