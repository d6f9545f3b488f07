"""Tuples of replicas for runs in blocks: a step of each block, or none, with any number of bands.

A replica joins one step of every block, uniformly, with probability `share`: random allocation with
blocks of t steps and share 1, Poisson sampling with blocks of one step. Participations of one
replica may be so close that their columns overlap. Then the recursion over the steps gives
f = E_x[L_x e^(s(x))] >= LR, s(x) >= 0 the sum of <c_i, c_j>/s^2 over the pairs of x (the strategy
has no negative entries), and delta is at most E_P[(1 - g/f)+] (participation_run.py). With

    E_P[(1 - g/f)+] = E_Q[LR f^(a-1) f^(1-a) (1 - g/f)+],

LR f^(a-1) is a sum over tuples, with the weight e^(all pairs of the tuple - s(x_1)): the pairs of a
replica with itself count as all others, except those of the first one. So a table of the numbers
that join each step, without their labels, has u = e^(all pairs), and w/u = e^(-s(x_1)) <= 1. Which
of those who join is the first replica is drawn, uniformly. Payoffs have the mean E_P[(1 - g/f)+],
and M is as in `simulation`, because only f enters it.

The state before a step: the numbers that joined each of the last steps within the bands, in slots
(replica_states.py), and how many have not yet joined the block. With at most as many bands as a
block has steps and one, and no slot across blocks, no state counts more than two blocks; without
slots that are put together, and for single steps, none counts more than all in every step.

Rounding: as for balls in bins, all terms are positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation import Replicas, TupleDraws, TupleSource
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.schemes.simulation.replica_states import LineSlots, slots_of_line, ways_to_choose
from hockeystick.schemes.simulation.replicas import column_products
from hockeystick.strategies import Strategy

__all__ = ["BlockTupleSource", "BlockTuples"]

IntArray = NDArray[np.int64]

# What the logarithm of a weight may lose: 1e-12 for each of as many steps as are taken.
SLACK = 1e-8
MOST_STEPS = 5_000
# Numbers in the tables of a programme: 64 megabytes, about a second.
MOST_NUMBERS = 2**23
# Exponents that floating point holds.
LARGEST_EXPONENT = 600.0


@dataclass(frozen=True)
class BlockTupleSource(TupleSource):
    """The programmes of a scheme whose replicas join a step of each block of this length."""

    strategy: Strategy
    length: int
    share: float

    def replicas(
        self, order: int, noise_multiplier: float, *, fine: bool = False
    ) -> Replicas | None:
        """With as many slots as the tables allow, or as there are bands; none is finer."""
        before = self.strategy.bands - 1
        least = min(before, 2) if self.length > 1 else before
        if self.strategy.steps > MOST_STEPS or (self.length > 1 and before > self.length):
            return None
        for slots in range(before, least - 1, -1):
            counts = slots + self.tracked
            states = math.comb(self.most(order) + counts, counts)
            if self.strategy.steps * states <= MOST_NUMBERS:
                return Replicas(order, slots, noise_multiplier)
        return None

    @property
    def tracked(self) -> int:
        """Whether states say how many have not yet joined the block."""
        return int(self.length > 1)

    def most(self, order: int) -> int:
        """That a state counts."""
        return 2 * order if self.length > 1 else order * (self.strategy.bands - 1)

    def programme(self, replicas: Replicas) -> BlockTuples | None:
        """With its tables."""
        return _programme(self, replicas)


@dataclass(frozen=True, eq=False)
class BlockTuples:
    """Draws of tuples; `log_total` is log of the total weight of the tables."""

    replicas: Replicas
    source: BlockTupleSource
    hazards: FloatArray
    ends: NDArray[np.bool_]
    line: LineSlots
    own: float
    products: FloatArray
    starts: IntArray
    values: FloatArray
    log_total: float

    @property
    def log_largest(self) -> float:
        """log of a bound on the weights, which are rounded themselves."""
        return self.log_total + 2 * SLACK

    def draw(self, draws: int, rng: np.random.Generator) -> TupleDraws:
        """Step by step."""
        from hockeystick.schemes.simulation.block_kernels import draw_blocks

        order, steps = self.replicas.order, self.hazards.size
        where = np.zeros((draws, steps), dtype=np.int64)
        times, number = np.zeros_like(where), np.zeros(draws, dtype=np.int64)
        logs, attractions = np.empty(draws), np.empty(draws)
        most, tracked = self.source.most(order), self.source.tracked
        draw_blocks(
            rng,
            order,
            most,
            tracked,
            self.hazards,
            self.ends,
            self.line.sizes,
            self.line.moves,
            self.line.pulls,
            self.own,
            _ways(most, order, self.line),
            self.starts,
            self.values,
            self.products,
            where,
            times,
            number,
            logs,
            attractions,
        )
        trajectories = Trajectories(where, times, number)
        return TupleDraws(trajectories, logs + (self.log_total + SLACK), attractions)


def _ways(most: int, order: int, line: LineSlots) -> IntArray:
    return ways_to_choose(max(most, order) + line.moves.shape[1] + 2)


@lru_cache(maxsize=8)
def _line(source: BlockTupleSource, slots: int) -> LineSlots:
    """At noise 1: attractions at other noises are in proportion."""
    envelope = np.zeros(source.strategy.steps)
    lags = column_products(source.strategy, source.strategy.bands).max(axis=0)[: envelope.size]
    envelope[1 : lags.size] = lags[1:]
    block = source.length if source.length > 1 else None
    return slots_of_line(envelope, slots, block=block, by_step=False)


@lru_cache(maxsize=4)
def _programme(source: BlockTupleSource, replicas: Replicas) -> BlockTuples | None:
    """The tables; None if they are beyond floating point."""
    from hockeystick.schemes.simulation.block_kernels import fill_blocks

    order, slots, noise = replicas
    with np.errstate(all="ignore"):
        products = column_products(source.strategy, source.strategy.bands) / noise / noise
    own, line = float(products[:, 0].max()), _line(source, slots)
    # What one step may add to the exponent, at most.
    if not order * (order / 2 * own + 2 * order * float(products.max())) <= LARGEST_EXPONENT:
        return None
    line = line._replace(pulls=line.pulls / noise / noise)
    place = np.arange(source.strategy.steps) % source.length
    part = source.share / source.length
    hazards = np.minimum(part / (1 - part * place), 1.0)
    ends = place == source.length - 1
    hazards[ends & (source.share == 1.0)] = 1.0
    most, tracked = source.most(order), source.tracked
    ways = _ways(most, order, line)
    counts = [int(ways[most + size + tracked, size + tracked]) for size in line.sizes]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    values = np.empty(starts[-1])
    tables = (hazards, ends, line.sizes, line.moves, line.pulls)
    fill_blocks(order, most, tracked, *tables, own, ways, starts, values)
    first = _first_state(order, most, tracked, ways)
    total = float(values[first])
    if not 0 < total < math.inf or not np.isfinite(values).all():
        return None
    rest = (own, products, starts, values)
    return BlockTuples(replicas, source, hazards, ends, line, *rest, math.log(total))


def _first_state(order: int, most: int, tracked: int, ways: IntArray) -> int:
    """No slots, and all have yet to join."""
    return int(ways[most + 1, 1] - ways[most - order + 1, 1]) if tracked else 0
