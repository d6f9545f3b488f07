"""The law of an average of lognormal variables of which neighbours share a normal variable.

S = (1/b) sum_i exp(here_i Z_i + ahead_i Z_(i+1) - Var/2). The state is one Z: a bin draws the next
one, moves the sum by a term that depends on both, and forgets the old one. Nothing is enlarged
where a Gram matrix has two bands, so that both sides of the bound meet (docs/gram.md).
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.chain_lattices import (
    STATE_STEP,
    WIDEST_STATE_NATS,
    reach,
    transition,
)
from hockeystick._numerics.chain_mixture import Task
from hockeystick._numerics.chain_parts import START_STEP, part_nodes
from hockeystick._numerics.gaussian_lattice import merged
from hockeystick._numerics.law import FloatArray, Side
from hockeystick._numerics.moving_average import MovingAverage
from hockeystick._numerics.spaced_nodes import spaced_nodes
from hockeystick._numerics.sum_grid import expected_size
from hockeystick._numerics.sum_table import SumLaw, SumTable, mixed_laws
from hockeystick._numerics.threads import in_threads

__all__ = ["moving_sum_law", "moving_work"]

FEWEST_STATES = 6


class _Drawn(NamedTuple):
    """A normal variable times its scale, rounded: values, weights, and what leaves above or below.

    Removing charges E(e^(Y - top) - 1)+ times what terms are worth at the top, adding a mass.
    """

    nodes: FloatArray
    weights: FloatArray
    charge: float


def moving_sum_law(
    mixture: MovingAverage, *, remove: bool, side: Side, fineness: float, tail: float
) -> SumLaw:
    """The law of S: bounds E F(S) for convex F that increase (remove) or decrease (add).

    O(bins states^2 sums) for each value of the first state of a ring.
    """
    task = Task(mixture, remove, side, fineness, tail)
    first = _first(task)
    runs = [_Run(task, float(start)) for start in first.nodes]
    drawn = _line_start(task)
    for run in runs:
        run.begin(drawn)
    for i in range(mixture.bins):
        drawn = _drawn(task, i + 1)
        in_threads(partial(run.advance, i, drawn) for run in runs)
    charge = first.charge
    if remove and charge:
        charge *= _worth_of_first(mixture, float(first.nodes[-1]))
    return mixed_laws([run.law() for run in runs], first.weights, charge)


def moving_work(
    mixture: MovingAverage, *, remove: bool, side: Side, fineness: float, tail: float
) -> float:
    """About how many elementary operations `moving_sum_law` takes."""
    task = Task(mixture, remove, side, fineness, tail)
    states = _nodes(task, float(mixture.scales.max())).size
    return _first(task).nodes.size * mixture.bins * states**2 * expected_size(task)


def _nodes(task: Task[MovingAverage], scale: float) -> FloatArray:
    low, high = (float(end) for end in reach(task, np.ones(())))
    step = task.fineness * min(STATE_STEP, WIDEST_STATE_NATS / scale)
    return scale * spaced_nodes(low, high, step=step, remove=task.remove, fewest=FEWEST_STATES)


def _rounded(task: Task[MovingAverage], scale: float, nodes: FloatArray) -> _Drawn:
    exponent = task.exponent(0)
    if not task.upper:
        return _Drawn(*merged(scale**2, nodes, exponent=exponent), 0.0)
    weights, charge = transition(task, np.zeros(1), scale**2, nodes, exponent)
    return _Drawn(nodes, weights[0], float(charge[0]))


def _drawn(task: Task[MovingAverage], i: int) -> _Drawn:
    """Z_(i+1) times its scale; nothing where no term depends on it."""
    scale = float(task.mixture.scales[i])
    if scale <= 0 or (task.mixture.closes and i == task.mixture.bins):
        return _Drawn(np.zeros(1), np.ones(1), 0.0)
    return _rounded(task, scale, _nodes(task, scale))


def _line_start(task: Task[MovingAverage]) -> _Drawn:
    """Z_1, which a ring has fixed already."""
    return _Drawn(np.zeros(1), np.ones(1), 0.0) if task.mixture.closes else _drawn(task, 0)


def _first(task: Task[MovingAverage]) -> _Drawn:
    """The values of Z_1 that a ring is opened at: two terms of all depend on it, so few will do."""
    mixture = task.mixture
    if not mixture.closes:
        return _Drawn(np.zeros(1), np.ones(1), 0.0)
    scale = float(mixture.scales[0])
    nodes = part_nodes(task, scale**2, START_STEP * math.sqrt(mixture.bins))
    return _rounded(task, scale, nodes)


def _worth_of_first(mixture: MovingAverage, top: float) -> float:
    """The expectation of the terms that depend on Z_1, if its multiple is `top`."""
    z = top / float(mixture.scales[0])
    factors = [float(mixture.here[0])] + [float(mixture.ahead[-1])] * mixture.closes
    with np.errstate(over="ignore"):
        return sum(float(np.exp(f * z - f**2 / 2)) for f in factors) / mixture.bins


class _Run(SumTable[MovingAverage]):
    """The table of one run, given Z_1 times its scale on a ring."""

    def __init__(self, task: Task[MovingAverage], start: float) -> None:
        super().__init__(task)
        mixture = task.mixture
        self.nodes = np.array([start])
        # What the end of a ring multiplies the last term by, in expectation and at most.
        self.start = start / mixture.scales[0] if mixture.closes else 0.0
        grown = mixture.ahead[-1] * self.start
        self.last = math.exp(grown - mixture.ahead[-1] ** 2 / 2) if mixture.closes else 1.0

    def begin(self, drawn: _Drawn) -> None:
        """The first variable of a line."""
        mixture = self.task.mixture
        if mixture.closes:
            return
        self.nodes = drawn.nodes
        self.table = drawn.weights[:, None].copy()
        self.moment = np.zeros_like(self.table)
        if self.task.upper and drawn.charge:
            worth = _worth_of_first(mixture, float(drawn.nodes[-1])) if self.task.remove else 1.0
            self.charge += drawn.charge * worth

    def advance(self, i: int, drawn: _Drawn) -> None:
        """The next variable is drawn, and the term of bin i joins the sum."""
        self._prune(i)
        self._charge_exits(i, drawn)
        old = self._exponent(self.task.mixture.here[i], i, self.nodes)
        increments = np.exp(np.add.outer(old, self._new(i, drawn.nodes))) / self.task.mixture.bins
        self.add(i, increments, drawn.weights, moves=True)
        self.nodes = drawn.nodes

    def _new(self, i: int, nodes: FloatArray) -> FloatArray:
        mixture = self.task.mixture
        factor = float(mixture.ahead[i])
        if mixture.closes and i + 1 == mixture.bins:
            return np.array([factor * self.start - factor**2 / 2])
        return self._exponent(factor, i + 1, nodes)

    def _exponent(self, factor: float, i: int, nodes: FloatArray) -> FloatArray:
        """factor Z_(i+1) - factor^2/2 for states that are Z_(i+1) times its scale."""
        scale = float(self.task.mixture.scales[i])
        result: FloatArray = (factor / scale if scale > 0 else 0.0) * nodes - factor**2 / 2
        return result

    def _prune(self, i: int) -> None:
        """A state adds at most e to its positive part, beside the last term of a ring."""
        worth = np.ones(self.nodes.size)
        if self.task.remove:
            with np.errstate(over="ignore"):
                worth = np.exp(np.maximum(self.nodes, 0.0)) * max(self.last, 1.0)
        self.prune(worth)

    def _charge_exits(self, i: int, drawn: _Drawn) -> None:
        """What Z_(i+1) has beyond its lattice: in units of LR, or of probability for add."""
        if not self.task.upper or not drawn.charge:
            return
        mass = self.table.sum(axis=1)
        if not self.task.remove:
            self.charge += drawn.charge * float(mass.sum())
            return
        mixture, top = self.task.mixture, drawn.nodes[-1:]
        with np.errstate(over="ignore", invalid="ignore"):
            now = np.exp(self._exponent(mixture.here[i], i, self.nodes) + self._new(i, top)) @ mass
            later = 0.0
            if i + 1 < mixture.bins:
                last = self.last if i + 2 == mixture.bins else 1.0
                later = np.exp(self._exponent(mixture.here[i + 1], i + 1, top))[0] * last
            total = drawn.charge * float(now + later * mass.sum()) / mixture.bins
        self.charge += math.inf if math.isnan(total) else total
