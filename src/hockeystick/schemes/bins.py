"""A uniform bin for every example: the draw behind random allocation and balls-in-bins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from hockeystick.schemes.base import Indices

__all__ = ["members_by_bin", "nearest_divisor"]


def members_by_bin(
    examples: int, bins: int, *, wanted: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """Who is in the first `wanted` bins, after each example drew one of `bins` uniformly.

    O(examples + bins), by a counting sort where the bin fits into 16 bits.
    """
    # The narrowest integers that hold a bin: up to 16 bits the stable sort is a counting sort.
    narrow = np.min_scalar_type(bins - 1)
    bin_of = rng.integers(bins, size=examples, dtype=narrow)
    # Stable, so that indices stay sorted within a bin.
    order = np.argsort(bin_of, kind="stable").astype(np.int64, copy=False)
    ends = np.cumsum(np.bincount(bin_of[bin_of < wanted], minlength=wanted)).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield order[start:end]


def nearest_divisor(total: int, *, target: Fraction) -> int:
    """The positive integer d for which total / d is nearest to `target`; the larger one on a tie.

    Exact rational arithmetic; total / d falls with d, so only the neighbours of total / target
    qualify.
    """
    below = math.floor(total / target)
    return min((below + 1, below), key=lambda d: abs(Fraction(total, d) - target))
