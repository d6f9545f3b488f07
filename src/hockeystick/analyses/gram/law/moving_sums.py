"""The law of an average of lognormal variables of which neighbours share a few normal variables.

S = (1/b) sum_i exp(sum_k factors[i, k] Z_(i+k) - Var/2), k < p. The state are p - 1 of the Z: a bin
draws the next one, moves the sum by a term that depends on all p, and drops the oldest. Nothing
is enlarged where a Gram matrix has p bands, so that both sides of the bound meet (docs/gram.md).
"""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick.analyses.gram.law import Task, expected_size, part_nodes, reach, spaced_nodes
from hockeystick.analyses.gram.law.chain_states import transition
from hockeystick.analyses.gram.law.reading import SumLaw, mixed_laws
from hockeystick.analyses.gram.law.state_lattices import merged
from hockeystick.analyses.gram.law.sum_table import SumTable
from hockeystick.analyses.gram.order.moving_average import MovingAverage

__all__ = ["moving_sum_law", "moving_work"]


class _Drawn(NamedTuple):
    """A normal variable times its scale, rounded: values, weights, and what leaves above or below.

    Removing charges E(e^(Y - top) - 1)+ times what terms are worth at the top, adding a mass.
    """

    nodes: FloatArray
    weights: FloatArray
    charge: float


def moving_sum_law(task: Task[MovingAverage]) -> SumLaw:
    """The law of S: bounds E F(S) for convex F that increase (remove) or decrease (add).

    O(bins states^p sums) for each value of the first state of a ring, p the number of bands.
    """
    mixture, first = task.mixture, _first(task)
    runs = [_Run(task, float(start)) for start in first.nodes]
    if not mixture.closes:
        for i in range(mixture.bands - 1):
            runs[0].begin(i, _drawn(task, i))
    for i in range(mixture.bins):
        drawn = _drawn(task, i + mixture.bands - 1)
        in_threads(partial(run.advance, i, drawn) for run in runs)
    charge = first.charge
    if task.remove and charge:
        charge *= _worth_of_first(mixture, float(first.nodes[-1]))
    return mixed_laws([run.law() for run in runs], first.weights, charge)


def moving_work(task: Task[MovingAverage]) -> float:
    """About how many elementary operations `moving_sum_law` takes."""
    mixture = task.mixture
    states: float = _nodes(task, float(mixture.scales.max())).size
    sums = expected_size(task)
    return _first(task).nodes.size * mixture.bins * states**mixture.bands * sums


def _nodes(task: Task[MovingAverage], scale: float) -> FloatArray:
    """The number of states is a power of that of nodes, which are expensive with many bands.

    Cells far out may be wide if they are merged; upper bounds lose too much there.
    """
    settings = task.lattices
    low, high = reach(task)
    step = task.fineness * min(settings.state_step, settings.widest_state_nats / scale)
    return scale * spaced_nodes(
        low,
        high,
        step=step,
        remove=task.remove,
        fewest=settings.fewest_variables,
        settings=settings,
        expensive=task.mixture.bands > 2 and not task.upper,
    )


def _rounded(task: Task[MovingAverage], i: int, nodes: FloatArray) -> _Drawn:
    """Z_(i+1) times its scale on nodes: split for an upper bound, merged for a lower one.

    When removing, all terms are convex in e^(c Z) for the smallest c of a term that depends on Z,
    and keeping the mean of that loses less than keeping the mean of Z.
    """
    scale, exponent = float(task.mixture.scales[i]), task.exponent(i)
    slowest = float(task.mixture.slowest[i])
    if task.remove and slowest > task.lattices.least_exponent:
        exponent = slowest
    if not task.upper:
        return _Drawn(*merged(scale**2, nodes, exponent=exponent), 0.0)
    weights, charge = transition(task, np.zeros(1), scale**2, nodes, exponent)
    return _Drawn(nodes, weights[0], float(charge[0]))


def _drawn(task: Task[MovingAverage], i: int) -> _Drawn:
    """Z_(i+1) times its scale; nothing where no term depends on it."""
    scale = float(task.mixture.scales[i])
    if scale <= 0 or (task.mixture.closes and i == task.mixture.bins):
        return _Drawn(np.zeros(1), np.ones(1), 0.0)
    return _rounded(task, i, _nodes(task, scale))


def _first(task: Task[MovingAverage]) -> _Drawn:
    """The values of Z_1 that a ring is opened at: two terms of all depend on it, so few will do."""
    mixture = task.mixture
    if not mixture.closes:
        return _Drawn(np.zeros(1), np.ones(1), 0.0)
    scale = float(mixture.scales[0])
    nodes = part_nodes(task, scale**2, task.lattices.start_step * math.sqrt(mixture.bins))
    return _rounded(task, 0, nodes)


def _worth_of_first(mixture: MovingAverage, top: float) -> float:
    """The expectation of the terms of a ring that depend on Z_1, if its multiple is `top`."""
    z = top / float(mixture.scales[0])
    factors = float(mixture.factors[0, 0]), float(mixture.factors[-1, 1])
    with np.errstate(over="ignore"):
        return sum(float(np.exp(f * z - f**2 / 2)) for f in factors) / mixture.bins


class _Run(SumTable[MovingAverage]):
    """The table of one run, given Z_1 times its scale on a ring.

    Rows are the states of `variables`, the oldest first; `nodes` are their values.
    """

    def __init__(self, task: Task[MovingAverage], start: float) -> None:
        super().__init__(task)
        mixture = task.mixture
        self.variables: list[int] = [0] if mixture.closes else []
        self.nodes = [np.array([start])] if mixture.closes else []
        # What the end of a ring multiplies the last term by.
        self.last = 1.0
        if mixture.closes:
            ahead = mixture.factors[-1, 1]
            self.start = start / mixture.scales[0]
            self.last = math.exp(ahead * self.start - ahead**2 / 2)

    def begin(self, i: int, drawn: _Drawn) -> None:
        """One of the first variables of a line, before the first term."""
        self._charge_exits(i, drawn)
        rows = np.multiply.outer(self.table[:, 0], drawn.weights)
        self.table = rows.reshape(-1, 1)
        self.moment = np.zeros_like(self.table)
        self._keep(i, drawn)

    def advance(self, i: int, drawn: _Drawn) -> None:
        """The next variable is drawn, the term of bin i joins the sum, the oldest is dropped."""
        mixture = self.task.mixture
        self._prune()
        new = i + mixture.bands - 1
        self._charge_exits(new, drawn)
        oldest, *others = self._exponents(i)
        rest = reduce(np.add.outer, others, np.zeros(())).ravel()
        old = np.add.outer(rest, oldest)
        increments = np.exp(np.add.outer(old, self._exponent(i, new, drawn.nodes))) / mixture.bins
        self._regroup(oldest.size)
        self.add(i, increments, drawn.weights, moves=True)
        self.variables, self.nodes = self.variables[1:], self.nodes[1:]
        self._keep(new, drawn)

    def _keep(self, variable: int, drawn: _Drawn) -> None:
        self.variables = [*self.variables, variable]
        self.nodes = [*self.nodes, drawn.nodes]

    def _regroup(self, oldest: int) -> None:
        """Rows in groups: the states of the oldest variable together, those of the others apart."""

        def regrouped(rows: FloatArray) -> FloatArray:
            groups = rows.reshape(oldest, -1, self.sums.size).swapaxes(0, 1)
            return np.ascontiguousarray(groups).reshape(-1, self.sums.size)

        self.table = regrouped(self.table)
        if not self.task.upper:
            self.moment = regrouped(self.moment)

    def _exponents(self, i: int) -> list[FloatArray]:
        """What each variable of the state adds to the exponent of the term of bin i."""
        return [self._exponent(i, *one) for one in zip(self.variables, self.nodes, strict=True)]

    def _exponent(self, i: int, variable: int, nodes: FloatArray) -> FloatArray:
        """factor Z - factor^2/2 for states that are Z times its scale; 0 if Z is not in the term.

        The last variable of a ring is its first.
        """
        mixture = self.task.mixture
        if not 0 <= variable - i < mixture.bands:
            return np.zeros(nodes.size)
        factor = float(mixture.factors[i, variable - i])
        if mixture.closes and variable == mixture.bins:
            return np.array([factor * self.start - factor**2 / 2])
        scale = float(mixture.scales[variable])
        result: FloatArray = (factor / scale if scale > 0 else 0.0) * nodes - factor**2 / 2
        return result

    def _prune(self) -> None:
        """States add at most e to their positive parts, beside the last term of a ring."""
        worth = np.ones(len(self.table))
        if self.task.remove:
            positive = [np.maximum(nodes, 0.0) for nodes in self.nodes]
            with np.errstate(over="ignore"):
                worth = np.exp(reduce(np.add.outer, positive).ravel()) * max(self.last, 1.0)
        self.prune(worth)

    def _charge_exits(self, variable: int, drawn: _Drawn) -> None:
        """Charge for what Z has beyond its lattice: in LR, or in probability for add."""
        if not self.task.upper or not drawn.charge:
            return
        mass = self.table.sum(axis=1)
        if not self.task.remove:
            self.charge += drawn.charge * float(mass.sum())
            return
        mixture, top = self.task.mixture, drawn.nodes[-1:]
        total = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(max(variable - mixture.bands + 1, 0), min(variable + 1, mixture.bins)):
                known = reduce(np.add.outer, self._exponents(i), np.zeros(())).ravel()
                last = self.last if mixture.closes and i + 1 == mixture.bins else 1.0
                total += last * float(np.exp(known + self._exponent(i, variable, top)) @ mass)
        total *= drawn.charge / mixture.bins
        self.charge += math.inf if math.isnan(total) else total
