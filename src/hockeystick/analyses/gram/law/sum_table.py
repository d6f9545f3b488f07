"""The table of a recursion over bins: joint weights of a state and of the sum so far.

Row x holds the masses of the partial sums while the state is x. What moves the state is up to the
recursion; here terms join the sums, on grids that are matched to their law as it spreads.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Generic, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick.analyses.gram.law.chain_mixture import M_co, Task
from hockeystick.analyses.gram.law.sum_grid import low_nodes, probe_nodes, sum_nodes

__all__ = ["SumLaw", "SumTable", "kernels", "mixed_laws"]

# Grids of sums are matched anew when the number of bins has grown by this factor: sums that stay
# near their nodes lose little. When adding, low sums decide, which a grid that waits tells apart
# only if half of all sums exceed this part of their mean, and not as long.
GROWTH, GROWTH_WHEN_ADDING, TYPICAL = 1.5, 1.2, 0.5
# Masses worth less than this, relative to the tail that may be cut, are forgotten.
PRUNED = 1e-6
# Where a grid is placed anew, its law is looked at as so many sums at most.
PROBED_SUMS = 96
# Rows of one table are shared by the cores in so many blocks.
ROW_BLOCKS = 4


class SumLaw(NamedTuple):
    """Atoms s with Q-mass q, and what is added to every hockey-stick divergence."""

    s: FloatArray
    q: FloatArray
    charge: float


def mixed_laws(laws: list[SumLaw], weights: FloatArray, charge: float) -> SumLaw:
    """The mixture of laws, and a charge beside theirs."""
    for law, weight in zip(laws, weights.tolist(), strict=True):
        charge += weight * law.charge
    return SumLaw(
        np.concatenate([law.s for law in laws]),
        np.concatenate([weight * law.q for law, weight in zip(laws, weights, strict=True)]),
        math.inf if math.isnan(charge) else charge,
    )


class SumTable(Generic[M_co]):
    """Masses table[state, sum]; for barycentres also the first moments of the cells."""

    def __init__(self, task: Task[M_co]) -> None:
        self.task = task
        self.charge = 0.0
        # The sums so far: one node at 0; `moment` is kept for barycentres only.
        self.sums = np.zeros(1)
        self.table, self.moment = np.ones((1, 1)), np.zeros((1, 1))
        # Up to how many bins the grid suits.
        self._matched_until = 0.0
        # Nodes of the sum with all that is to come, and of low sums.
        self.grid, self.low = np.zeros(0), np.zeros(0)

    def law(self) -> SumLaw:
        """After all bins."""
        q = self.table.sum(axis=0)
        if self.task.upper:
            return SumLaw(self.sums, q, self.charge)
        moment = self.moment.sum(axis=0)
        kept = q > 0
        return SumLaw(moment[kept] / q[kept], q[kept], 0.0)

    def prune(self, worth: FloatArray) -> None:
        """Forget masses that cannot matter; an upper bound is charged for them.

        When removing, a mass in row x is worth worth[x] and the sum so far.
        """
        tiny = self.task.tail * PRUNED
        lost = kernels().prune(self.table, self.sums, worth, float(self.task.remove), tiny)
        self.charge += lost if self.task.upper else 0.0

    def add(
        self, i: int, increments: FloatArray, weights: FloatArray, *, moves: bool = False
    ) -> None:
        """The terms of bin i join the sums; where the grid turns out too short, on a new one.

        Row x grows by increments[x, m] with the weight m, and stays row x. With `moves` rows come
        in groups: row (g, x) grows by increments[g, x, m] and becomes row (g, m).
        """
        bins = self.task.mixture.bins
        left = 1.0 - (i + 1) / bins
        rows = len(increments) * weights.size if moves else self.table.shape[0]
        fresh = i + 1 > self._matched_until or i + 1 == bins
        while True:
            if fresh:
                self._match(increments, weights, left)
            nodes = self.grid[self.grid > left * (1 + 1e-12)] - left
            nodes = np.union1d(np.append(nodes, 0.0), self.low)
            result = np.zeros((rows, nodes.size))
            if not self.task.upper:
                self._gather(increments, weights, nodes, result, moves=moves)
                break
            excess = self._spread(increments, weights, nodes, result, moves=moves)
            if fresh or excess <= self.task.tail:
                self.charge += excess if self.task.remove else 0.0
                break
            fresh = True
        self.table, self.sums = result, nodes

    def _spread(
        self,
        increments: FloatArray,
        weights: FloatArray,
        nodes: FloatArray,
        result: FloatArray,
        *,
        moves: bool,
    ) -> float:
        """`spread`, the result's rows shared by the cores; a ring has other runs for them."""
        single = self.task.mixture.closes
        pieces = _pieces(self.table, increments, weights, moves=moves, single=single)
        excess = np.zeros(len(pieces))

        def compute(index: int) -> None:
            for old, moved, chances, new in pieces[index]:
                excess[index] += kernels().spread(
                    self.table[old], self.sums, moved, chances, nodes, result[new], moves
                )

        in_threads(partial(compute, index) for index in range(len(pieces)))
        return float(excess.sum())

    def _gather(
        self,
        increments: FloatArray,
        weights: FloatArray,
        nodes: FloatArray,
        result: FloatArray,
        *,
        moves: bool,
    ) -> None:
        """`gather`, likewise."""
        moment = np.zeros_like(result)
        single = self.task.mixture.closes
        pieces = _pieces(self.table, increments, weights, moves=moves, single=single)

        def compute(piece: list[Piece]) -> None:
            for old, moved, chances, new in piece:
                before, after = (self.table[old], self.moment[old]), (result[new], moment[new])
                kernels().gather(*before, moved, chances, nodes, *after, moves)

        in_threads(partial(compute, piece) for piece in pieces)
        self.moment = moment

    def _match(self, increments: FloatArray, weights: FloatArray, left: float) -> None:
        """A grid of S + left, and one of low sums, that suit the sums after this bin."""
        t = probe_nodes(self.task, float(self.sums[-1] + increments.max()) + left, left)
        seen = np.zeros(t.size)
        table, sums = _coarse(self.table, self.sums)
        moved = increments.reshape(-1, weights.size)
        kernels().probe(table, sums, moved, weights, t - left, seen)
        done = round((1 - left) * self.task.mixture.bins)
        self.grid = sum_nodes(self.task, t, seen, done)
        self.low = low_nodes(self.task, t, seen)
        self._matched_until = done * self._patience(1 - left)

    def _patience(self, mean: float) -> float:
        """By which factor the number of bins may grow until the next grid."""
        if self.task.remove:
            return GROWTH
        typical = self.low.max(initial=0.0) > TYPICAL * mean
        return GROWTH_WHEN_ADDING if typical else 1.0


class Piece(NamedTuple):
    """Rows of a table with their increments and chances, and the rows that they go to."""

    old: slice
    moved: FloatArray
    chances: FloatArray
    new: slice


def _pieces(
    table: FloatArray, increments: FloatArray, weights: FloatArray, *, moves: bool, single: bool
) -> list[list[Piece]]:
    """The work of one bin in parts that write to different rows, one list for each thread.

    Neighbouring rows: what is contiguous is indexed faster.
    """
    if not moves:
        blocks = _blocks(len(table), single=single)
        return [[Piece(rows, increments[rows], weights, rows)] for rows in blocks]
    groups, states, drawn = increments.shape
    if groups == 1:
        whole = slice(0, states)
        return [
            [Piece(whole, np.ascontiguousarray(increments[0][:, rows]), weights[rows], rows)]
            for rows in _blocks(drawn, single=single)
        ]
    each = [
        Piece(
            slice(g * states, (g + 1) * states),
            increments[g],
            weights,
            slice(g * drawn, (g + 1) * drawn),
        )
        for g in range(groups)
    ]
    return [each[rows] for rows in _blocks(groups, single=single)]


def _blocks(rows: int, *, single: bool) -> list[slice]:
    ends = np.linspace(0, rows, (1 if single else ROW_BLOCKS) + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def _coarse(table: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Runs of neighbouring sums as one: the first at its first sum, the last at its last."""
    starts = np.unique(np.linspace(0, sums.size, PROBED_SUMS, endpoint=False).astype(np.int64))
    lengths = np.diff(np.append(starts, sums.size))
    place = np.linspace(0.0, 1.0, starts.size)
    at = starts + np.rint(place * (lengths - 1)).astype(np.int64)
    return np.add.reduceat(table, starts, axis=1), sums[at]


def kernels() -> ModuleType:
    """Imported when they are needed: with Numba they take a second."""
    from hockeystick.analyses.gram.law import partial_sum_kernels

    return partial_sum_kernels
