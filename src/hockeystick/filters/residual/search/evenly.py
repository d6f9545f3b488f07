"""Steps spread evenly over what is expected, from the strongest on, in classes.

Nothing here has to be trusted: the filter computes the delta of whatever comes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.filters.residual.composition import StepClass
from hockeystick.filters.residual.menus import ExpectedSteps
from hockeystick.filters.residual.search.settings import SETTINGS

__all__ = ["Even", "has_range", "setting"]

EVENLY = np.linspace(0, 1, 2)


class Even:
    """So many steps as one wants, in the expected proportions.

    Parameters
    ----------
    expected
        Rows of steps; ranges are cut into classes.
    cut
        Share of every range, at its strongest end, that is left out.
    place
        Where the classes of a range end, as shares of it; evenly if nothing is said.
    classes
        How many there are, at most, of all ranges together.
    middle
        Whether a class is as strong as the step in its middle: to estimate what is allowed.
    block
        How many equal steps there are at every place of a range.
    """

    def __init__(
        self,
        expected: Sequence[ExpectedSteps],
        *,
        cut: float = 0.0,
        place: FloatArray = EVENLY,
        classes: int = SETTINGS.classes,
        middle: bool = False,
        block: int = 1,
    ) -> None:
        self.block = block
        self.rows, self.cut, self.place, self._middle = expected, cut, place, middle
        self._classes = max(classes // max(sum(map(has_range, expected)), 1), 4)
        self._total = sum(row.steps for row in expected)

    def steps(self, size: float, most: float = math.inf) -> dict[StepClass, int]:
        """The strongest `most` of `size` steps: how many of each class.

        A class is as strong as the strongest of its steps. Steps that are spread as evenly, or
        less densely, find one that dominates them in whichever order they come.
        """
        found: dict[StepClass, int] = {}
        for row in self.rows:
            for kind, count in self._of_row(row, size * row.steps / self._total):
                found[kind] = found.get(kind, 0) + count
        kept: dict[StepClass, int] = {}
        left = most
        for kind in sorted(found, key=lambda one: -one.variance):
            here = math.floor(min(found[kind], left) / self.block + 1e-9) * self.block
            left -= here
            if here:
                kept[kind] = here
        return kept

    def _of_row(self, row: ExpectedSteps, size: float) -> Iterator[tuple[StepClass, int]]:
        if not has_range(row):
            yield StepClass.of(row.rates[0], row.noises[0]), self._whole(size)
        elif _ranged(row.rates) and _ranged(row.noises):
            yield from self._cells(row, size)
        else:
            number = math.ceil(size / self.block - 1e-9)
            at = self.cut + (1 - self.cut) * (np.arange(number) + 0.5) / max(number, 1)
            share = (at - self.cut) / (1 - self.cut)
            groups = np.interp(share, self.place, np.linspace(0, self._classes, self.place.size))
            first = np.flatnonzero(np.diff(np.floor(groups), prepend=-1.0))
            for start, end in pairwise([*first.tolist(), number]):
                which = (start + end - 1) // 2 if self._middle else start
                yield setting(row, float(at[which])), (end - start) * self.block

    def _whole(self, size: float) -> int:
        """Rounded up to whole blocks."""
        return math.ceil(size / self.block - 1e-9) * self.block

    def _cells(self, row: ExpectedSteps, size: float) -> Iterator[tuple[StepClass, int]]:
        """Of a rectangle: cells of equal size, each as strong as its strongest corner."""
        side = max(round(math.sqrt(self._classes)), 2)
        at = self.cut + (1 - self.cut) * np.arange(side) / side
        corners = [
            StepClass.of(_along(row.rates[::-1], one), _along(row.noises, other))
            for one in at.tolist()
            for other in at.tolist()
        ]
        seen, given = 0.0, 0
        for corner in sorted(corners, key=lambda one: -one.variance):
            seen += size / side**2
            here = self._whole(seen) - given
            given += here
            yield corner, here


def has_range(row: ExpectedSteps) -> bool:
    """Whether its rate or its noise is a range."""
    return _ranged(row.rates) or _ranged(row.noises)


def setting(row: ExpectedSteps, at: float) -> StepClass:
    """The step at a share of the way from the strongest end to the other."""
    return StepClass.of(_along(row.rates[::-1], at), _along(row.noises, at))


def _along(ends: tuple[float, float], at: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * at


def _ranged(ends: tuple[float, float]) -> bool:
    return ends[0] < ends[1]
