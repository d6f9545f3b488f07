"""What each example has spent: for inspection, never for release."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray

__all__ = ["NOT_RELEASABLE", "Histogram", "IndividualReport"]

NOT_RELEASABLE = "NOT RELEASABLE: individual spending depends on the data"
BAR = 40


class Histogram(NamedTuple):
    """How many examples spent a share of their budget between neighbouring edges."""

    counts: NDArray[np.int64]
    edges: FloatArray


class IndividualReport:
    """Spending of every example; printing it shows a histogram and says that it is not releasable.

    `shares` are of the budget, from 0 to 1.
    """

    releasable = False

    def __init__(self, spent: FloatArray, *, budget: float, steps: int) -> None:
        self.spent = spent
        self.shares = np.minimum(spent / budget, 1.0)
        self.exhausted = int(np.count_nonzero(spent >= budget))
        self.steps = steps

    def histogram(self, *, bins: int = 10) -> Histogram:
        """Shares of the budget in equal bins; the last one holds its upper end, the exhausted."""
        bins = check.positive_integer("bins", bins)
        counts, edges = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return Histogram(counts.astype(np.int64), edges)

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.shares, (0.05, 0.5, 0.95))
        histogram = self.histogram()
        widest = max(int(histogram.counts.max()), 1)
        lines = [
            NOT_RELEASABLE,
            f"{self.spent.size} examples after {self.steps} steps, {self.exhausted} exhausted",
            f"share of the budget: median {middle:.3f}, 5 % {low:.3f}, 95 % {high:.3f}",
        ]
        lines += [
            f"{start:4.2f}-{end:4.2f} {count:>9} {'#' * round(BAR * count / widest)}".rstrip()
            for start, end, count in zip(
                histogram.edges, histogram.edges[1:], histogram.counts, strict=False
            )
        ]
        return "\n".join(lines)
