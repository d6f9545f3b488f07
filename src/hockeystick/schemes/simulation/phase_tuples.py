"""Tuples of replicas for groups that are secret: a uniform phase, and a draw in each turn.

A replica draws one of g phases, uniformly, and joins each step of it with probability p. Given the
phases c_1 <= ... <= c_a of a tuple the turns follow one another, and who joins a turn is attracted
by who took the last of theirs: with at most g bands no participation meets more than one of each
replica. So the mean of e^(attraction) given the phases is a product of matrices of 2^a states. It
is computed for every pattern of phases up to rotation, which is all that matters if

- inner products of columns are the largest at their distance, and
- everybody has ceil(n/g) + 1 turns, the first of which lies before the run if its phase has been
  rotated past the end of a round. These turns contain those of every rotation. Turns outside of the
  run are drawn and left out: they only attract in the tables, so that w <= u for what is left.

A tuple is drawn by pattern, rotation and turns; w/u = e^(true attraction - that of the tables).

Rounding: all terms are positive; each turn loses less than 1e-15 relatively.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation import Replicas, TupleDraws, TupleSource
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.schemes.simulation.replicas import column_products
from hockeystick.strategies import Strategy

__all__ = ["PhaseTupleSource", "PhaseTuples"]

# What the logarithm of a weight may lose: 1e-15 for each of a million turns, and sums over them.
SLACK = 1e-8
# Operations for all patterns of an order, some tenths of a second; patterns, and turns of a run.
MOST_OPERATIONS, MOST_PATTERNS, MOST_TURNS = 3e8, 500_000, 100_000
# Values of all patterns that are kept, 64 megabytes; values that are computed for a single draw.
MOST_KEPT, MOST_OF_A_DRAW = 2**23, 2**17
# Exponents that floating point holds.
LARGEST_EXPONENT = 600.0


@dataclass(frozen=True)
class PhaseTupleSource(TupleSource):
    """The programmes of a scheme whose groups are secret, with at most as many bands as groups."""

    strategy: Strategy
    groups: int
    rate: float

    @property
    def rounds(self) -> int:
        """In which everybody has a turn, one more than the run may have."""
        return -(-self.strategy.steps // self.groups) + 1

    def replicas(
        self, order: int, noise_multiplier: float, *, fine: bool = False
    ) -> Replicas | None:
        """Every pattern is known, if there are not too many; none is finer."""
        patterns = math.comb(self.groups + order - 2, order - 1)
        turns = self.rounds * order
        states = (turns + 1) * 2.0**order
        work = patterns / order * states
        if patterns > MOST_PATTERNS or turns > MOST_TURNS or work > MOST_OPERATIONS:
            return None
        if states > MOST_OF_A_DRAW and 2 * work > MOST_KEPT:
            return None
        return Replicas(order, 0, noise_multiplier)

    def programme(self, replicas: Replicas) -> PhaseTuples | None:
        """With all patterns."""
        return _programme(self, replicas)


@dataclass(frozen=True, eq=False)
class PhaseTuples:
    """Draws of tuples; `log_total` is log of the total weight."""

    replicas: Replicas
    source: PhaseTupleSource
    pulls: FloatArray
    products: FloatArray
    patterns: NDArray[np.int64]
    cumulative: FloatArray
    log_total: float

    @cached_property
    def _kept(self) -> FloatArray:
        """The values of all patterns, if there are not too many."""
        from hockeystick.schemes.simulation.phase_kernels import fill_all_turns

        source, order = self.source, self.replicas.order
        shape = (len(self.patterns), source.rounds * order + 1, 2**order)
        if math.prod(shape) > MOST_KEPT:
            return np.empty((0, 0, 0))
        tables = np.empty(shape)
        fill_all_turns(source.groups, source.rate, self.pulls, self.patterns, tables)
        return tables

    @property
    def log_largest(self) -> float:
        """log of a bound on the weights, which are rounded themselves."""
        return self.log_total + 2 * SLACK

    def draw(self, draws: int, rng: np.random.Generator) -> TupleDraws:
        """Turn by turn."""
        from hockeystick.schemes.simulation.phase_kernels import draw_phases

        source, order = self.source, self.replicas.order
        steps = source.strategy.steps
        where = np.zeros((draws, min(steps, source.rounds * order)), dtype=np.int64)
        times, number = np.zeros_like(where), np.zeros(draws, dtype=np.int64)
        logs, attractions = np.empty(draws), np.empty(draws)
        draw_phases(
            rng,
            source.groups,
            source.rate,
            source.rounds,
            steps,
            self.pulls,
            self.products,
            self.patterns,
            self.cumulative,
            self._kept,
            where,
            times,
            number,
            logs,
            attractions,
        )
        trajectories = Trajectories(where, times, number)
        return TupleDraws(trajectories, logs + (self.log_total + SLACK), attractions)


@lru_cache(maxsize=8)
def _programme(source: PhaseTupleSource, replicas: Replicas) -> PhaseTuples | None:
    """None if the weights are beyond floating point."""
    from hockeystick.schemes.simulation.phase_kernels import list_patterns

    order, _, noise = replicas
    with np.errstate(all="ignore"):
        products = column_products(source.strategy, source.strategy.bands) / noise / noise
    # Twice the groups: two turns of one replica, and what is out of reach, do not attract.
    pulls = np.zeros(2 * source.groups + 1)
    pulls[: products.shape[1]] = products.max(axis=0)
    # What a round may add, with all turns taken.
    if not order * order * float(pulls.max()) <= LARGEST_EXPONENT:
        return None
    room = math.comb(source.groups + order - 2, order - 1)
    patterns, logs = np.empty((room, order), np.int64), np.empty(room)
    count = list_patterns(order, source.groups, source.rate, source.rounds, pulls, patterns, logs)
    patterns, logs = patterns[:count].copy(), logs[:count]
    total = float(np.logaddexp.reduce(logs))
    if not math.isfinite(total):
        return None
    cumulative = np.cumsum(np.exp(logs - total))
    tables = (pulls, products, patterns, cumulative / cumulative[-1])
    return PhaseTuples(replicas, source, *tables, total)
