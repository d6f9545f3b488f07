"""The law of an average of correlated lognormal variables, bounded in convex order.

S = (1/b) sum_i exp(X_i + W_i - Var/2), with X a Gaussian Markov chain and W independent. The table
D[x, s] holds the joint weights of the state on a lattice and the sum so far; a bin moves s by its
term and x by one transition. All quantities are positive, so that tails keep their relative
accuracy. One run serves one direction and one side; docs/gram.md says why each rounding is sound.

On a ring the first state is fixed, which cuts the ring open: one run for each of its values.
"""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick.analyses.gram.law import Task, expected_size
from hockeystick.analyses.gram.law.chain_states import (
    ChainStep,
    Parts,
    own_count,
    own_parts,
    starts,
    steps_into,
)
from hockeystick.analyses.gram.law.reading import SumLaw, mixed_laws
from hockeystick.analyses.gram.law.state_lattices import lattices, state_count
from hockeystick.analyses.gram.law.sum_table import SumTable, kernels
from hockeystick.analyses.gram.order.chains import ChainMixture

__all__ = ["chain_sum_law", "chain_work"]


def chain_sum_law(task: Task[ChainMixture]) -> SumLaw:
    """The law of S: bounds E F(S) for convex F that increase (remove) or decrease (add).

    O(bins (states^2 sums + states sums parts)) for each value of the first state of a ring.
    """
    mixture, chain = task.mixture, task.mixture.chain_of_states()
    first, weights, charge = starts(task, chain)
    states = lattices(task, chain)
    runs = [_Run(task, start) for start in first.tolist()]
    parts_of = cache(partial(own_parts, task))
    for i, step in enumerate(steps_into(task, chain, states)):
        amplitude = float(mixture.amplitudes[i])
        variance = mixture.chain * float(chain.variance[i] + chain.start[i] ** 2)
        state = amplitude * np.add.outer(chain.start[i] * first, states[i])
        terms = np.exp(state - amplitude**2 * variance / 2) / mixture.bins
        parts = parts_of(amplitude)
        in_threads(
            partial(run.advance, i, step, term, parts)
            for run, term in zip(runs, terms, strict=True)
        )
    return mixed_laws([run.law() for run in runs], weights, charge)


def chain_work(task: Task[ChainMixture]) -> float:
    """About how many elementary operations `chain_sum_law` takes."""
    chain = task.mixture.chain_of_states()
    count, runs = state_count(task, chain), starts(task, chain)[0].size
    per_sum = task.lattices.product_cost * count + own_count(task)
    return runs * task.mixture.bins * count * expected_size(task) * per_sum


class _Run(SumTable[ChainMixture]):
    """The table of one run, given the first state of a ring (0 on a line)."""

    def __init__(self, task: Task[ChainMixture], start: float) -> None:
        super().__init__(task)
        self.start = max(start, 0.0)

    def advance(self, i: int, step: ChainStep, term: FloatArray, parts: Parts) -> None:
        """One transition into bin i, whose term then joins the sum."""
        self._charge_exits(step)
        moved = partial(kernels().product, step.weights, step.first, step.last)
        self.table = moved(self.table)
        if not self.task.upper:
            self.moment = moved(self.moment)
        self.prune(self._worth(step.nodes))
        if self.task.remove:
            self.charge += parts.over * float(term @ self.table.sum(axis=1))
        self.add(i, np.multiply.outer(term, parts.factor), parts.weights)

    def _worth(self, nodes: FloatArray) -> FloatArray:
        """What a state may add to the sum: at most e to its positive part."""
        if not self.task.remove:
            return np.ones(nodes.size)
        # Infinite where it overflows: such masses are kept.
        with np.errstate(over="ignore"):
            worth: FloatArray = np.exp(np.maximum(nodes, 0.0) + self.start)
        return worth

    def _charge_exits(self, step: ChainStep) -> None:
        """Charge for what leaves the lattice, or is dropped: in LR, or in probability for add."""
        if not self.task.upper:
            return
        mass = self.table.sum(axis=1)
        if not self.task.remove:
            self.charge += float((step.charge + step.lost) @ mass)
            return
        with np.errstate(over="ignore", invalid="ignore"):
            exits = np.exp(step.nodes[-1] + self.start) * (step.charge @ mass)
            grown = np.exp(self.start) * (step.lost_worth @ mass)
            lost = grown + step.lost @ (self.table @ self.sums)
        # What is beyond floating point says nothing.
        total = float(exits + lost)
        self.charge += math.inf if math.isnan(total) else total
