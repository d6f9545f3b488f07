"""Steps spread evenly over what is expected, from the strongest on, in classes.

Nothing here has to be trusted: the filter computes the delta of whatever comes out.
`SearchSettings` tunes the search for designs and exchanges; benchmarks/residual_filter.py measures
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.filters.residual.composition import StepClass
from hockeystick.filters.residual.menus import ExpectedSteps

__all__ = [
    "SETTINGS",
    "Even",
    "Settings",
    "has_range",
    "setting",
]


class Settings(NamedTuple):
    """All tunables of the search.

    Attributes
    ----------
    classes
        Into which all ranges together are cut, at most about.
    estimated_classes
        The same where the number of steps is only estimated.
    separate
        Up to so many steps each is a class of its own.
    margin
        By how much the number of more steps may be underestimated: they are counted to less than
        that.
    densities, most_of_them
        How dense the menu for a range is beside the steps that are allowed if fixed, and which part
        of the reserve for other menus and exchanges is kept: the first that leaves this part of the
        steps.
    even_part
        Of the largest slope, added to that of all classes of a range.
    cuts, enough
        Parts of ranges, at the strongest end, that are left out where fewer than `enough` steps
        would fit otherwise.
    side_places, side_menus
        Where in a range there are menus for steps of one kind, from its strongest end on, and their
        shares of delta; how many of them there are, at most, the weakest kinds first.
    side_share, side_least
        The share of others; dropped if it pays for a smaller part than the second of what all of
        delta pays for.
    exchange_share, exchanges
        Of delta, for all exchanges, and into how many units of slack it is divided.
    waste, cheap
        A step is served by a class with at most this many times its variance, if it can be had; or
        by one with at most the second times the mean variance of the menu, where little is lost.
    first_part
        Of the menu that the first exchange for steps of a kind converts; then twice as much.
    streak
        Equal requests after which every menu that is left may exchange for them.
    shortened, nearly
        Expected steps are clipped, if they may be, to a noise of at most the first times their own,
        before others are exchanged for them. They were expected if there ever was a class with at
        most the second times their noise.
    copies
        How many steps are tried in the place of one that is a little stronger.
    wholes
        Exchanges that compare whole menus, if nothing else takes slack.
    compared
        Classes of a menu in a comparison, beside those that are near the wanted steps.
    near
        Steps with this share of the variance of the strongest class are near it.
    efficiencies
        How much of the variance an exchange gives back, in the order in which it is tried.
    at_once
        Steps that an exchange for stronger ones gives, as a share of those that there are.
    part_step
        By how much the part grows where it does not pay for the steps.
    retry
        A failed exchange is tried again when the menu has lost this share of its variance.
    """

    classes: int = 140
    estimated_classes: int = 128
    separate: int = 600
    margin: float = 1.003
    densities: tuple[tuple[float, float], ...] = (
        (1.0, 1.0),
        (1.0, 0.2),
        (0.98, 1.0),
        (0.96, 1.0),
        (0.93, 1.0),
    )
    most_of_them: float = 0.8
    even_part: float = 0.02
    cuts: tuple[float, ...] = (0.0, 0.03, 0.06, 0.1, 0.2)
    enough: int = 10
    side_places: tuple[tuple[float, float], ...] = ((0.5, 0.0025), (0.75, 0.001), (1.0, 0.001))
    side_menus: int = 4
    side_share: float = 0.0025
    side_least: float = 0.3
    exchange_share: float = 0.003
    exchanges: int = 500
    waste: float = 2.0
    cheap: float = 0.4
    first_part: float = 0.08
    streak: int = 4
    shortened: float = 1.15
    nearly: float = 1.01
    copies: tuple[int, ...] = (2, 3, 4, 6, 9)
    wholes: int = 25
    compared: int = 30
    near: float = 0.6
    efficiencies: tuple[float, ...] = (0.92, 0.84, 0.75, 0.62, 0.48, 0.3)
    at_once: float = 0.015
    part_step: float = 1.4
    retry: float = 0.2


SETTINGS = Settings()


# Places of the strongest and the weakest class; those between are spaced evenly.
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
        block: int = 1,
    ) -> None:
        self.block = block
        self.rows, self.cut, self.place = expected, cut, place
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

    def spread(self, size: float) -> dict[StepClass, float]:
        """About so many steps, not rounded to anything: to estimate what is allowed if fixed.

        Each class is as strong as its middle.
        """
        found: dict[StepClass, float] = {}
        for row in self.rows:
            number = size * row.steps / self._total
            if row.rates.is_range and row.noises.is_range:
                kinds = [kind for kind, _ in self._cells(row, 0.0, middle=True)]
            else:
                values = row.rates.values * row.noises.values
                pieces = min(values, float(SETTINGS.estimated_classes))
                at = (np.arange(int(pieces)) + 0.5) / int(pieces)
                kinds = [setting(row, float(one)) for one in self.cut + (1 - self.cut) * at]
            for kind in kinds:
                found[kind] = found.get(kind, 0.0) + number / len(kinds)
        return found

    def _of_row(self, row: ExpectedSteps, size: float) -> Iterator[tuple[StepClass, int]]:
        if not has_range(row):
            yield StepClass.of(row.rates.low, row.noises.low), self._whole(size)
        elif row.rates.is_range and row.noises.is_range:
            yield from self._cells(row, size)
        else:
            number = math.ceil(size / self.block - 1e-9)
            at = self.cut + (1 - self.cut) * (np.arange(number) + 0.5) / max(number, 1)
            share = (at - self.cut) / (1 - self.cut)
            groups = np.interp(share, self.place, np.linspace(0, self._classes, self.place.size))
            values = row.rates.values * row.noises.values
            if values <= self._classes:
                groups = at * values
            first = np.flatnonzero(np.diff(np.floor(groups), prepend=-1.0))
            for start, end in pairwise([*first.tolist(), number]):
                yield setting(row, float(at[start])), (end - start) * self.block

    def _whole(self, size: float) -> int:
        """Rounded up to whole blocks."""
        return math.ceil(size / self.block - 1e-9) * self.block

    def _cells(
        self, row: ExpectedSteps, size: float, *, middle: bool = False
    ) -> Iterator[tuple[StepClass, int]]:
        """Of a rectangle: cells of equal size, each as strong as its strongest corner."""
        side = max(round(math.sqrt(self._classes)), 2)
        at = self.cut + (1 - self.cut) * (np.arange(side) + 0.5 * middle) / side
        corners = [
            StepClass.of(row.rates.at(one, downwards=True), row.noises.at(other))
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
    return row.rates.is_range or row.noises.is_range


def setting(row: ExpectedSteps, at: float) -> StepClass:
    """The step at a share of the way from the strongest end to the other."""
    return StepClass.of(row.rates.at(at, downwards=True), row.noises.at(at))
