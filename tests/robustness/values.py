"""Parameters over their whole range of magnitudes, and values that are no parameters at all."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

__all__ = ["absurd", "counts", "deltas", "epsilons", "magnitudes", "noises", "rates"]


def magnitudes(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers between two others, evenly in their logarithm."""
    return st.floats(math.log10(low), math.log10(high)).map(lambda e: float(np.power(10.0, e)))


def counts(largest: float) -> st.SearchStrategy[int]:
    """Integers from 1, evenly in their logarithm."""
    return magnitudes(1.0, largest).map(int)


def noises() -> st.SearchStrategy[float]:
    """Noise multipliers."""
    return magnitudes(1e-3, 1e3)


def deltas() -> st.SearchStrategy[float]:
    """Deltas that are asked for."""
    return magnitudes(1e-50, 1e-2)


def epsilons() -> st.SearchStrategy[float]:
    """Epsilons from nothing to nothing left."""
    return st.just(0.0) | magnitudes(1e-6, 1e6)


def rates() -> st.SearchStrategy[float]:
    """Sampling rates; also 1, and what is nearly 1 or nearly nothing."""
    special = st.sampled_from([1.0, 1 - 2**-53, 1 - 1e-9, 0.5, 1e-30])
    return magnitudes(1e-8, 1.0) | magnitudes(1e-8, 1.0) | special


def absurd() -> st.SearchStrategy[object]:
    """What somebody might pass by mistake, and the ends of floating point."""
    numbers = [math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 5e-324, 1e-300, 1e300, 1.5, 1.0]
    counts = [0, -1, 1, 2, 10**12, 2**53, 10**16, 10**30, 10**400, True]
    others = ["1", b"1", None, [], [1.0], {}, (), 1j, np.nan, np.float32(0.5), np.int8(3)]
    arrays = [np.zeros(0), np.full(3, np.nan), np.arange(4.0), np.eye(2), np.array("x")]
    return st.sampled_from([*numbers, *counts, *others, *arrays])
