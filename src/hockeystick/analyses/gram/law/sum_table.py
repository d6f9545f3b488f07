"""The table of a recursion over bins: joint weights of a state and of the sum so far.

Row x holds the masses of the partial sums while the state is x. What moves the state is up to the
recursion; here terms join the sums, on grids that are matched to their law as it spreads. An upper
bound splits every mass between two nodes so that the mean is kept, and is charged for what exceeds
the last node; a lower bound merges the masses of a cell at their barycentre (docs/gram.md, "The
recursion").
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Generic, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads
from hockeystick.analyses.gram.law import M_co, Task, low_nodes, probe_nodes, sum_nodes
from hockeystick.analyses.gram.law.reading import SumLaw

__all__ = ["SumTable", "kernels"]

# Rows of one table are shared by the cores in so many blocks: enough for the cores of a laptop; the
# kernels of smaller blocks take no longer than starting a thread.
ROW_BLOCKS = 4


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
        """Drop masses that cannot matter; an upper bound is charged for them.

        A mass in row x is worth the mass times worth[x]; when removing, its sum is added to the
        factor.
        """
        tiny = self.task.tail * self.task.lattices.pruned
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
        """Split every mass between two nodes so that its mean is kept; returns the mean beyond.

        Threads write to different rows. On a ring there is one piece: threads share its runs.
        """
        single = self.task.mixture.closes
        pieces = _pieces(self.table, increments, weights, moves=moves, single=single)
        excess = np.zeros(len(pieces))

        def compute(index: int) -> None:
            for old, moved, chosen, new in pieces[index]:
                excess[index] += kernels().spread(
                    self.table[old], self.sums, moved, chosen, nodes, result[new], moves
                )

        operations = self.table.size * weights.size
        in_threads((partial(compute, index) for index in range(len(pieces))), operations=operations)
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
        """Collect the mass and the first moment of every cell, in the same pieces."""
        moment = np.zeros_like(result)
        single = self.task.mixture.closes
        pieces = _pieces(self.table, increments, weights, moves=moves, single=single)

        def compute(piece: list[_Piece]) -> None:
            for old, moved, chosen, new in piece:
                before, after = (self.table[old], self.moment[old]), (result[new], moment[new])
                kernels().gather(*before, moved, chosen, nodes, *after, moves)

        operations = self.table.size * weights.size
        in_threads((partial(compute, piece) for piece in pieces), operations=operations)
        self.moment = moment

    def _match(self, increments: FloatArray, weights: FloatArray, left: float) -> None:
        """A grid of S + left, and one of low sums, that suit the sums after this bin."""
        t = probe_nodes(self.task, float(self.sums[-1] + increments.max()) + left, left)
        probed = np.zeros(t.size)
        table, sums = _coarse(self.table, self.sums, self.task.lattices.probed_sums)
        moved = increments.reshape(-1, weights.size)
        kernels().probe(table, sums, moved, weights, t - left, probed)
        done = round((1 - left) * self.task.mixture.bins)
        self.grid = sum_nodes(self.task, t, probed, done)
        self.low = low_nodes(self.task, t, probed)
        self._matched_until = done * self._growth_until_next(1 - left)

    def _growth_until_next(self, mean: float) -> float:
        """By which factor the number of bins may grow until the next grid."""
        settings = self.task.lattices
        if self.task.remove:
            return settings.growth
        typical = self.low.max(initial=0.0) > settings.typical * mean
        return settings.growth_when_adding if typical else 1.0


class _Piece(NamedTuple):
    """Rows of a table with their increments and weights, and the rows that they go to."""

    old: slice
    moved: FloatArray
    weights: FloatArray
    new: slice


def _pieces(
    table: FloatArray, increments: FloatArray, weights: FloatArray, *, moves: bool, single: bool
) -> list[list[_Piece]]:
    """The work of one bin in parts that write to different rows, one list for each thread.

    Neighbouring rows: what is contiguous is indexed faster.
    """
    if not moves:
        blocks = _blocks(len(table), single=single)
        return [[_Piece(rows, increments[rows], weights, rows)] for rows in blocks]
    groups, states, drawn = increments.shape
    if groups == 1:
        whole = slice(0, states)
        return [
            [_Piece(whole, np.ascontiguousarray(increments[0][:, rows]), weights[rows], rows)]
            for rows in _blocks(drawn, single=single)
        ]
    each = [
        _Piece(
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


def _coarse(table: FloatArray, sums: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Runs of neighbouring sums as one: the first at its first sum, the last at its last."""
    starts = np.unique(np.linspace(0, sums.size, most, endpoint=False).astype(np.int64))
    lengths = np.diff(np.append(starts, sums.size))
    place = np.linspace(0.0, 1.0, starts.size)
    at = starts + np.rint(place * (lengths - 1)).astype(np.int64)
    return np.add.reduceat(table, starts, axis=1), sums[at]


def kernels() -> ModuleType:
    """Imported when they are needed: with Numba they take a second."""
    from hockeystick.analyses.gram.law import sum_kernels

    return sum_kernels
