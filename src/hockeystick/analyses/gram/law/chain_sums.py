"""The law of an average of correlated lognormal variables, bounded in convex order.

S = (1/b) sum_i exp(X_i + W_i - Var/2), with X a Gaussian Markov chain, or the sum of two that are
independent, and W independent. The table D[x, s] holds the joint weights of the state on a lattice
and the sum so far; a bin moves s by its term and x by one transition, for two chains first along
one side of a product of lattices and then along the other. All quantities are positive, so that
tails keep their relative accuracy. One run serves one direction and one side; docs/gram.md says why
each rounding is sound.

On a ring the first state is fixed, which cuts the ring open: one run for each of its values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial, reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick.analyses.gram.law.chain_states import (
    Parts,
    Step,
    lattices,
    own_count,
    own_parts,
    starts,
    state_count,
    steps_into,
)
from hockeystick.analyses.gram.law.reading import SumLaw, mixed_laws
from hockeystick.analyses.gram.law.sum_table import SumTable, kernels
from hockeystick.analyses.gram.law.task import Task, expected_size
from hockeystick.analyses.gram.order.chains import ChainMixture, TwoChains

__all__ = ["chain_sum_law", "chain_work"]

ChainTask = Task[ChainMixture | TwoChains]


def chain_sum_law(task: ChainTask) -> SumLaw:
    """The law of S: bounds E F(S) for convex F that increase (remove) or decrease (add).

    O(bins (states^2 sums + states sums parts)) for each value of the first state of a ring. Two
    chains with n and m states have nm states, and nm (n + m) is the place of the square.
    """
    mixture, axes = task.mixture, _axes(task)
    chains = [axis.mixture.chain_of_states() for axis in axes]
    first, weights, charge = _all_starts(axes)
    states = [lattices(axis, chain) for axis, chain in zip(axes, chains, strict=True)]
    runs = [_Run(task, start) for start in first]
    moves = map(steps_into, axes, chains, states)
    parts_of = cache(partial(own_parts, task))
    for i, steps in enumerate(zip(*moves, strict=True)):
        amplitude = float(mixture.amplitudes[i])
        parts = parts_of(amplitude)
        start = first @ np.array([chain.start[i] for chain in chains])
        lattice = reduce(np.add.outer, [one[i] for one in states]).ravel()
        state = amplitude * np.add.outer(start, lattice)
        variance = sum(
            axis.mixture.chain * (chain.variance[i] + chain.start[i] ** 2)
            for axis, chain in zip(axes, chains, strict=True)
        )
        terms = np.exp(state - amplitude**2 * variance / 2) / mixture.bins
        in_threads(
            partial(run.advance, i, steps, terms[index], parts) for index, run in enumerate(runs)
        )
    return mixed_laws([run.law() for run in runs], weights, charge)


def chain_work(task: ChainTask) -> float:
    """About how many elementary operations `chain_sum_law` takes."""
    mixture, axes = task.mixture, _axes(task)
    chains = [axis.mixture.chain_of_states() for axis in axes]
    counts = [state_count(axis, chain) for axis, chain in zip(axes, chains, strict=True)]
    per_sum = task.lattices.product_cost * sum(counts) + own_count(task)
    runs = math.prod(starts(axis, chain)[0].size for axis, chain in zip(axes, chains, strict=True))
    return runs * mixture.bins * math.prod(counts) * expected_size(task) * per_sum


def _axes(task: ChainTask) -> list[Task[ChainMixture]]:
    """One task for each chain."""
    return [Task(axis, *task[1:]) for axis in task.mixture.axes]


def _all_starts(axes: Sequence[Task[ChainMixture]]) -> tuple[FloatArray, FloatArray, float]:
    """One row of first states for each combination, with their weights, and what is charged.

    A chain is rounded after those before it, whose first states multiply its terms.
    """
    first, weights, charge = np.zeros((1, 0)), np.ones(1), 0.0
    for axis in axes:
        value, mass, charged = starts(axis, axis.mixture.chain_of_states())
        if charged:
            grown = np.exp(np.maximum(first, 0.0).sum(axis=1)) if axis.remove else 1.0
            charge += charged * float(np.sum(weights * grown))
        first = np.hstack(
            (np.repeat(first, value.size, axis=0), np.tile(value, len(first))[:, None])
        )
        weights = np.multiply.outer(weights, mass).ravel()
    return first, weights, charge


class _Run(SumTable[ChainMixture | TwoChains]):
    """The table of one run, given the first states of a ring (0 on a line)."""

    def __init__(self, task: ChainTask, start: FloatArray) -> None:
        super().__init__(task)
        self.start = float(np.maximum(start, 0.0).sum())
        # The lattice of each chain.
        self.nodes = [np.zeros(1)] * start.size

    def advance(self, i: int, steps: Sequence[Step], term: FloatArray, parts: Parts) -> None:
        """One transition of every chain into bin i, whose term then joins the sum."""
        for axis, step in enumerate(steps):
            self._charge_exits(axis, step)
            self.table = self._moved(self.table, axis, step)
            if not self.task.upper:
                self.moment = self._moved(self.moment, axis, step)
            self.nodes[axis] = step.nodes
        self.prune(self._worth())
        if self.task.remove:
            self.charge += parts.over * float(term @ self.table.sum(axis=1))
        self.add(i, np.multiply.outer(term, parts.factor), parts.weights)

    def _moved(self, table: FloatArray, axis: int, step: Step) -> FloatArray:
        """The product along one side of the lattice, for every state of the other."""
        product = partial(kernels().product, step.weights, step.first, step.last)
        if len(self.nodes) == 1:
            single: FloatArray = product(table)
            return single
        old = [nodes.size for nodes in self.nodes]
        others = old[:axis] + old[axis + 1 :]
        slices = np.moveaxis(table.reshape(*old, -1), axis, -2).reshape(
            -1, old[axis], self.sums.size
        )
        slices = np.ascontiguousarray(slices)
        result = np.empty((len(slices), step.nodes.size, self.sums.size))

        def compute(index: int) -> None:
            result[index] = product(slices[index])

        operations = old[axis] * result.size
        in_threads((partial(compute, index) for index in range(len(slices))), operations=operations)
        whole = np.moveaxis(result.reshape(*others, step.nodes.size, self.sums.size), -2, axis)
        return whole.reshape(-1, self.sums.size)

    def _worth(self) -> FloatArray:
        """What a state may add to the sum: at most e to its positive part."""
        states = reduce(np.add.outer, [np.maximum(nodes, 0.0) for nodes in self.nodes]).ravel()
        if not self.task.remove:
            return np.ones(states.size)
        # Infinite where it overflows: such masses are kept.
        with np.errstate(over="ignore"):
            worth: FloatArray = np.exp(states + self.start)
        return worth

    def _charge_exits(self, axis: int, step: Step) -> None:
        """Charge for what leaves the lattice, or is dropped: in LR, or in probability for add."""
        if not self.task.upper:
            return
        mass = self._along(axis, self.table.sum(axis=1))
        if not self.task.remove:
            self.charge += float((step.charge + step.lost) @ mass.sum(axis=1))
            return
        others = [np.maximum(nodes, 0.0) for k, nodes in enumerate(self.nodes) if k != axis]
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp(self.start + reduce(np.add.outer, others, np.zeros(())).ravel())
            worth = mass @ grown
            exits = np.exp(step.nodes[-1]) * (step.charge @ worth)
            sums = self._along(axis, self.table @ self.sums).sum(axis=1)
            lost = step.lost_worth @ worth + step.lost @ sums
        # What is beyond floating point says nothing.
        total = float(exits + lost)
        self.charge += math.inf if math.isnan(total) else total

    def _along(self, axis: int, rows: FloatArray) -> FloatArray:
        """Values of all states as a matrix, the states of one chain down its side."""
        table = rows.reshape([nodes.size for nodes in self.nodes])
        return np.moveaxis(table, axis, 0).reshape(self.nodes[axis].size, -1)
