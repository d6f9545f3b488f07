"""The law of an average of correlated lognormal variables, bounded in convex order.

S = (1/b) sum_i exp(X_i + W_i - Var/2), with X a Gaussian Markov chain and W independent. The table
D[x, s] holds the joint weights of the chain's state on a lattice and the sum so far; a bin moves s
by its term and x by one transition. All quantities are positive, so that tails keep their relative
accuracy. One run serves one direction and one side; docs/gram.md says why each rounding is sound.

On a ring the first state is fixed, which cuts the ring open: one run for each of its values.
"""

from __future__ import annotations

import math
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.chain_lattices import Step, lattices, state_count, step_into
from hockeystick._numerics.chain_mixture import ChainMixture, Task
from hockeystick._numerics.chain_parts import Parts, own_parts, starts
from hockeystick._numerics.law import FloatArray, Side
from hockeystick._numerics.sum_grid import expected_size, probe_nodes, sum_nodes
from hockeystick._numerics.threads import in_threads

__all__ = ["SumLaw", "sum_law", "work"]

# Grids of sums are matched anew whenever the number of bins has grown by this factor.
GROWTH = 1.1
# Masses worth less than this, relative to the tail that may be cut, are forgotten.
PRUNED = 1e-6
# Rows of one table are shared by the cores in so many blocks.
ROW_BLOCKS = 4
# A product of a state costs this much of rounding a sum.
PRODUCT = 0.1


class SumLaw(NamedTuple):
    """Atoms s with Q-mass q, and what is added to every hockey-stick divergence."""

    s: FloatArray
    q: FloatArray
    charge: float


def sum_law(
    mixture: ChainMixture, *, remove: bool, side: Side, fineness: float, tail: float
) -> SumLaw:
    """The law of S: bounds E F(S) for convex F that increase (remove) or decrease (add).

    O(bins (states^2 sums + states sums parts)) for each value of the first state of a ring.
    """
    task = Task(mixture, remove, side, fineness, tail)
    chain = mixture.chain_of_states()
    first, weights, charge = starts(task, chain)
    states = lattices(task, chain)
    runs = [_Run(task, float(start)) for start in first]
    for i, lattice in enumerate(states):
        step = step_into(task, chain, states, i)
        amplitude = float(mixture.amplitudes[i])
        parts = own_parts(task, amplitude)
        state = amplitude * np.add.outer(first * chain.start[i], lattice)
        terms = np.exp(state - amplitude**2 * mixture.chain / 2) / mixture.bins
        in_threads(
            partial(run.advance, i, step, terms[index], parts) for index, run in enumerate(runs)
        )
    laws = [run.law() for run in runs]
    for law, weight in zip(laws, weights.tolist(), strict=True):
        charge += weight * law.charge
    return SumLaw(
        np.concatenate([law.s for law in laws]),
        np.concatenate([weight * law.q for law, weight in zip(laws, weights, strict=True)]),
        math.inf if math.isnan(charge) else charge,
    )


def work(mixture: ChainMixture, *, remove: bool, fineness: float, tail: float) -> float:
    """About how many elementary operations `sum_law` takes."""
    task = Task(mixture, remove, Side.UPPER, fineness, tail)
    chain = mixture.chain_of_states()
    states = state_count(task, chain)
    per_sum = PRODUCT * states + own_parts(task, 1.0).factor.size
    runs = starts(task, chain)[0].size
    return runs * mixture.bins * states * expected_size(task) * per_sum


class _Run:
    """The table of one run, given the first state of a ring (0 on a line)."""

    def __init__(self, task: Task, start: float) -> None:
        self.task, self.start = task, start
        self.charge = 0.0
        # The sums so far: one node at 0; `moment` is kept for barycentres only.
        self.sums = np.zeros(1)
        self.table, self.moment = np.ones((1, 1)), np.zeros((1, 1))
        self.matched = 0
        self.grid = np.zeros(0)

    def law(self) -> SumLaw:
        """After all bins."""
        q = self.table.sum(axis=0)
        if self.task.upper:
            return SumLaw(self.sums, q, self.charge)
        moment = self.moment.sum(axis=0)
        kept = q > 0
        return SumLaw(moment[kept] / q[kept], q[kept], 0.0)

    def advance(self, i: int, step: Step, term: FloatArray, parts: Parts) -> None:
        """One transition of the chain into bin i, whose term then joins the sum."""
        self._charge_exits(step)
        self.table = _kernels().product(step.weights, step.first, step.last, self.table)
        if not self.task.upper:
            self.moment = _kernels().product(step.weights, step.first, step.last, self.moment)
        self._prune(step.nodes)
        if self.task.remove:
            self.charge += parts.over * float(term @ self.table.sum(axis=1))
        self._add(i, np.multiply.outer(term, parts.factor), parts.weights)

    def _add(self, i: int, increments: FloatArray, weights: FloatArray) -> None:
        """The terms of bin i join the sums; where the grid turns out too short, on a new one."""
        bins = self.task.mixture.bins
        left = 1.0 - (i + 1) / bins
        # Low sums decide the add direction, and a grid that waits has no nodes for them.
        fresh = not self.task.remove or i + 1 > GROWTH * self.matched or i + 1 == bins
        while True:
            if fresh:
                self.grid = self._grid(increments, weights, left)
                self.matched = i + 1
            nodes = np.concatenate(([0.0], self.grid[self.grid > left * (1 + 1e-12)] - left))
            result = np.zeros((self.table.shape[0], nodes.size))
            if not self.task.upper:
                moment = np.zeros_like(result)
                _kernels().gather(
                    self.table, self.moment, increments, weights, nodes, result, moment
                )
                self.moment = moment
                break
            excess = self._spread(increments, weights, nodes, result)
            if fresh or not self.task.remove or excess <= self.task.tail:
                self.charge += excess if self.task.remove else 0.0
                break
            fresh = True
        self.table, self.sums = result, nodes

    def _spread(
        self, increments: FloatArray, weights: FloatArray, nodes: FloatArray, result: FloatArray
    ) -> float:
        """`spread`, rows shared by the cores; a ring has other runs to keep them busy."""
        excess = np.zeros(1 if self.task.mixture.closes else ROW_BLOCKS)

        def compute(block: int) -> None:
            rows = slice(block, None, excess.size)
            excess[block] = _kernels().spread(
                self.table[rows], self.sums, increments[rows], weights, nodes, result[rows]
            )

        in_threads(partial(compute, block) for block in range(excess.size))
        return float(excess.sum())

    def _prune(self, nodes: FloatArray) -> None:
        """Forget masses that cannot matter; an upper bound is charged for them."""
        remove = self.task.remove
        worth = np.ones(nodes.size)
        if remove:
            # Infinite where it overflows: such masses are kept.
            with np.errstate(over="ignore"):
                worth = np.exp(np.maximum(nodes, 0.0) + max(self.start, 0.0))
        tiny = self.task.tail * PRUNED
        lost = _kernels().prune(self.table, self.sums, worth, float(remove), tiny)
        self.charge += lost if self.task.upper else 0.0

    def _charge_exits(self, step: Step) -> None:
        """What leaves the lattice, or is left out: in units of LR, or of probability for add."""
        if not self.task.upper:
            return
        mass = self.table.sum(axis=1)
        if not self.task.remove:
            self.charge += float((step.charge + step.lost) @ mass)
            return
        with np.errstate(over="ignore", invalid="ignore"):
            start = np.exp(max(self.start, 0.0))
            exits = start * np.exp(step.nodes[-1]) * (step.charge @ mass)
            lost = start * (step.lost_worth @ mass) + step.lost @ (self.table @ self.sums)
        # What is beyond floating point says nothing.
        total = float(exits + lost)
        self.charge += math.inf if math.isnan(total) else total

    def _grid(self, increments: FloatArray, weights: FloatArray, left: float) -> FloatArray:
        """A grid of S + left that suits the sums after this bin."""
        t = probe_nodes(self.task, float(self.sums[-1] + increments.max()) + left, left)
        seen = np.zeros(t.size)
        _kernels().probe(self.table, self.sums, increments, weights, t - left, seen)
        bins = self.task.mixture.bins
        return sum_nodes(self.task, t, seen, round((1 - left) * bins))


def _kernels() -> ModuleType:
    from hockeystick._numerics import partial_sum_kernels

    return partial_sum_kernels
