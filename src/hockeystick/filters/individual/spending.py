"""What each example has spent: shown for inspection, never for release, and kept in a file."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._files import check_target, replacing
from hockeystick._numerics.law import BoolArray, FloatArray
from hockeystick.errors import InvalidParameter

__all__ = [
    "NOT_RELEASABLE",
    "IndividualReport",
    "IndividualStep",
    "SpendingHistogram",
    "checked_norms",
    "load_state",
    "save_state",
]

NOT_RELEASABLE = "NOT RELEASABLE: individual spending depends on the data"
# Characters of the longest bar of a printed histogram.
BAR = 40
# What NumPy and the archive raise for files that are damaged or something else.
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


@dataclass(frozen=True, eq=False)
class IndividualStep:
    """What each example may contribute to one step.

    Neither array may be released: both depend on the data.

    Attributes
    ----------
    number : int
        1, 2, ...
    factors : numpy.ndarray
        Gradients are multiplied by these before they are summed.
    active : numpy.ndarray
        Examples that are not active are exhausted and contribute nothing.
    """

    number: int
    factors: FloatArray
    active: BoolArray


class SpendingHistogram(NamedTuple):
    """How many examples spent a share of their budget between neighbouring edges."""

    counts: NDArray[np.int64]
    edges: FloatArray


class IndividualReport:
    """Spending of every example; printing it shows a histogram and says that it is not releasable.

    Attributes
    ----------
    spent : numpy.ndarray
        In the unit of the rule.
    shares : numpy.ndarray
        Of the example's own budget, from 0 to 1.
    exhausted : int
        How many examples have spent everything.
    steps : int
        How many steps were charged.

    Examples
    --------
    >>> import hockeystick as hs
    >>> people = hs.filters.Individual.gaussian(examples=2, mu=1.0)
    >>> step = people.step([1.0, 0.5], noise_multiplier=1.0)
    >>> report = people.report()
    >>> report.exhausted, report.shares.round(2).tolist(), report.releasable
    (1, [1.0, 0.25], False)
    """

    releasable = False

    def __init__(self, spent: FloatArray, *, budgets: FloatArray, steps: int) -> None:
        self.spent = spent
        self.shares = np.minimum(spent / budgets, 1.0)
        self.exhausted = int(np.count_nonzero(spent >= budgets))
        self.steps = steps

    def histogram(self, *, bins: int = 10) -> SpendingHistogram:
        """Shares of the budget in equal bins; the last one holds its upper end, the exhausted.

        Parameters
        ----------
        bins
            How many.

        Returns
        -------
        SpendingHistogram
            `counts` and `edges`, as of `numpy.histogram`.
        """
        bins = check.positive_integer("bins", bins)
        counts, edges = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return SpendingHistogram(counts.astype(np.int64), edges)

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


def checked_norms(norms: Any, *, examples: int) -> FloatArray:
    """A norm for each example."""
    allowed = f"{examples} finite numbers >= 0, one for each example"
    values = check.vector("norms", norms, allowed)
    if values.shape != (examples,):
        raise InvalidParameter("norms", allowed, f"the shape {values.shape}")
    if not (values.min() >= 0 and values.max() < math.inf):
        raise InvalidParameter("norms", allowed, norms)
    return values


def save_state(
    path: Path, *, rule: Mapping[str, object], remaining: FloatArray, steps: int
) -> None:
    """Write the state; the file appears complete or not at all, on the disk, for its owner."""
    with replacing(check_target("path", path), private=True) as file:
        np.savez(file, rule=np.array(_text(rule)), remaining=remaining, steps=np.array(steps))


def load_state(
    path: Path, *, rule: Mapping[str, object], full: FloatArray, place: float
) -> tuple[FloatArray, int]:
    """What is left for each example, and how many steps were charged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            known, steps = str(kept["rule"]), int(kept["steps"])
            remaining = kept["remaining"].astype(np.float64, casting="safe")
    except _UNREADABLE:
        raise InvalidParameter("path", "a file that `save` wrote", str(path)) from None
    if known != _text(rule):
        raise InvalidParameter("path", f"saved with the rule {_text(rule)}", known)
    if remaining.shape != full.shape:
        raise InvalidParameter("path", f"saved with {full.size} examples", remaining.size)
    possible = (remaining >= 0) & (remaining <= full) & (remaining % place == 0)
    if not (steps >= 0 and np.all(possible)):
        most = float(full.max())
        raise InvalidParameter("path", f"an undamaged state, at most {most!r} left", str(path))
    return remaining, steps


def _text(rule: Mapping[str, object]) -> str:
    return json.dumps(dict(rule), sort_keys=True)
