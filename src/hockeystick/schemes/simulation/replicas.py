"""Tuples of replicas that rest between participations, with at most as many bands as steps apart.

A table holds the total weight from each state of the replicas, by the number of steps left; moves
are drawn in proportion to their weight and the value of the state they lead to. Values settle, so
that one vector serves all but the first and the last steps. A warm start is a cold one in which the
first separation - 1 steps are joined less often: whoever has not yet joined any may still have to
rest, and whoever has rests for all of them.

u exceeds w (`simulation`) in several ways, and w/u is computed for every draw: inner products are
the largest of any step, replicas beyond `resting` are let go early (replica_tables.py), and users
who rest longer if drawn meanwhile are bounded by a process the tables know (replica_states.py).

Rounding: all terms are positive. Weights of moves are raised by what their exponents may have lost;
T v <= e^h v entry by entry makes Z an upper bound; what is left is in `SLACK`, by which the
logarithm of every payoff is raised, and that of M twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.capabilities import Participant, Renewal
from hockeystick.schemes.simulation import Replicas, TupleDraws
from hockeystick.schemes.simulation.columns import IntArray, Trajectories
from hockeystick.schemes.simulation.replica_states import (
    ReplicaLaw,
    number_of_moves,
    replica_law,
    ways_to_choose,
)
from hockeystick.strategies import Strategy

__all__ = ["ReplicaProgramme", "ReplicaSource", "column_products", "number_of_states"]

# What the logarithm of a payoff may lose to floating point and to values that are not quite
# settled: twice 1e-5 for the latter (`TOLERANCE`), and 1e-12 for each of a million steps.
SLACK = 3e-5
# Values count as settled when they grow within e^(TOLERANCE / steps) of each other, or nearly as
# close as sums of a few dozen products can be.
TOLERANCE, FINEST = 1e-5, 1e-13
# Steps back until values have settled, in separations; 10 to 20 are typical.
MOST_ROUNDS = 60
# Numbers in tables (64 megabytes); tables for more steps than some separations gain nothing.
TABLE_NUMBERS, TABLE_ROUNDS = 2**23, 3
# States of a programme: a table for each of 128 steps fits, and takes a tenth of a second.
MOST_STATES = 2**16
# Of one that is worth seconds: tables of a few steps, a second or four.
FINE_STATES = 2**20
# Moves of all states, which several copies multiply: 120 megabytes.
MOST_MOVES = 2**22
# Values below this, relative to that of the state in which all may join, are not told apart.
SMALLEST = 1e-250


def number_of_states(resting: int, separation: int, copies: int = 1) -> int:
    """Ways for at most `resting` replicas to have one of separation - 1 ages, and their copies."""
    return math.comb(resting + (separation - 1) * copies, resting)


@dataclass(frozen=True)
class ReplicaSource:
    """The programmes of a process with at most as many bands as the separation."""

    strategy: Strategy
    process: Renewal | Participant

    def replicas(
        self, order: int, noise_multiplier: float, *, fine: bool = False
    ) -> Replicas | None:
        """As many replicas are followed as the states allow; columns of one must not overlap."""
        most_states = FINE_STATES if fine else MOST_STATES
        separation, copies = self.process.separation, self.process.most_copies
        if self.strategy.bands > separation:
            return None
        for resting in range(order, 0, -1):
            states = number_of_states(resting, separation, copies)
            if (
                states <= most_states
                and number_of_moves(order, resting, separation, copies) <= MOST_MOVES
            ):
                return Replicas(order, resting, noise_multiplier)
        return None

    def log_largest(self, replicas: Replicas) -> float:
        """From the tables, which are not kept."""
        return _log_largest(self, replicas)

    def programme(self, replicas: Replicas) -> ReplicaProgramme | None:
        """With its tables, which only one thread makes."""
        with _MAKING:
            return _programme(self, replicas)


@dataclass(frozen=True, eq=False)
class _Moves:
    """The moves of all states."""

    starts: IntArray
    weights: FloatArray
    targets: NDArray[np.int32]
    charges: FloatArray
    joined: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class ReplicaProgramme:
    """Draws of tuples; `log_total` is log Z, of which a draw's weight is at most e^log_excess."""

    replicas: Replicas
    moves: _Moves
    pulls: FloatArray
    largest: FloatArray
    law: ReplicaLaw
    tables: FloatArray
    first: FloatArray
    settled: FloatArray
    cumulative: FloatArray
    log_total: float
    log_excess: float

    @property
    def log_largest(self) -> float:
        """log of a bound on the weights, which are rounded themselves."""
        law_excess = self.replicas.order * max(self.law.log_excess, 0.0)
        return self.log_total + self.log_excess + law_excess + 2 * SLACK

    def draw(self, draws: int, rng: np.random.Generator) -> TupleDraws:
        """Step by step; a tuple that the tables allow and the process does not has weight 0."""
        from hockeystick.schemes.simulation.replica_draws import draw_tuples

        where = np.zeros((draws, self.pulls.shape[0]), dtype=np.int64)
        times, number = np.zeros_like(where), np.zeros(draws, dtype=np.int64)
        logs, attractions, moves = np.empty(draws), np.empty(draws), self.moves
        law, rate, rates = self.law, self.law.rate, self.law.first_rates
        rest = self.pulls.shape[0] - rates.size
        draw_tuples(
            rng,
            moves.starts,
            moves.weights,
            moves.targets,
            moves.charges,
            moves.joined,
            self.cumulative,
            self.tables,
            self.first,
            rates / (1 - rates) * (1 - rate) / rate,
            self.settled,
            self.largest,
            self.pulls,
            np.cumsum(np.log1p(-np.append(rates, np.full(rest, rate)))),
            (law.gaps, law.firsts, law.ends),
            where,
            times,
            number,
            logs,
            attractions,
        )
        trajectories = Trajectories(where, times, number)
        return TupleDraws(trajectories, logs + (self.log_total + SLACK), attractions)


_MAKING = Lock()


# The bounds of some hundred orders and noises; two programmes, each with its tables.
@lru_cache(maxsize=512)
def _log_largest(source: ReplicaSource, replicas: Replicas) -> float:
    found = _build(source, replicas, cumulative=False)
    return math.inf if found is None else found.log_largest


@lru_cache(maxsize=2)
def _programme(source: ReplicaSource, replicas: Replicas) -> ReplicaProgramme | None:
    return _build(source, replicas, cumulative=True)


class _Values(NamedTuple):
    """Values by steps left, those of the middle of the run, log Z, and log of w/u at most."""

    tables: FloatArray
    settled: FloatArray
    log_total: float
    log_excess: float


def _values(moves: _Moves, steps: int, separation: int) -> _Values | None:
    """Of the steps after the first ones; None if they are beyond floating point."""
    from hockeystick.schemes.simulation.replica_tables import settled_values, values_by_steps_left

    states = moves.starts.size - 1
    kept = min(steps, max(1, TABLE_NUMBERS // states), TABLE_ROUNDS * separation + 8)
    tables = np.empty((kept + 1, states))
    log_total = values_by_steps_left(moves.starts, moves.weights, moves.targets, tables)
    settled, log_excess = tables[kept], 0.0
    if kept < steps:
        tolerance, rounds = max(TOLERANCE / steps, FINEST), MOST_ROUNDS * separation
        settled, low, high = settled_values(
            moves.starts, moves.weights, moves.targets, tables[kept], tolerance, rounds
        )
        if not (settled.min() > SMALLEST and (high - low) * steps <= 2 * TOLERANCE):
            return None
        log_total += (steps - kept) * high
        log_excess = float(np.log((tables[kept] / settled).max()))
    if not (math.isfinite(log_total) and tables.min() > SMALLEST):
        return None
    return _Values(tables, settled, log_total, log_excess)


def _build(
    source: ReplicaSource, replicas: Replicas, *, cumulative: bool
) -> ReplicaProgramme | None:
    """The tables; without `cumulative` for the bound alone."""
    from hockeystick.schemes.simulation.replica_tables import cumulative_moves, first_values

    separation = source.process.separation
    with np.errstate(all="ignore"):
        products = column_products(source.strategy, separation)
        pulls = products / replicas.noise_multiplier / replicas.noise_multiplier
    steps, largest = pulls.shape[0], pulls.max(axis=0)
    law = replica_law(source.process, steps)
    if law is None or not np.isfinite(largest).all():
        return None
    with np.errstate(all="ignore"):
        moves = _moves(replicas, law, largest)
    if not np.isfinite(moves.weights).all():
        return None
    rate, rates = law.rate, law.first_rates
    values = _values(moves, steps - rates.size, separation)
    if values is None:
        return None
    arrays, number = (moves.starts, moves.weights, moves.targets), moves.joined.sum(axis=1)
    first = np.empty((rates.size + 1, values.settled.size))
    first[-1] = values.settled
    log_first = first_values(*arrays, number, rates / rate, (1 - rates) / (1 - rate), first)
    if not (math.isfinite(log_first) and first.min() > SMALLEST):
        return None
    none = np.empty((0, 0))
    return ReplicaProgramme(
        replicas,
        moves,
        pulls,
        largest,
        law,
        values.tables if cumulative else none,
        first if cumulative else none,
        values.settled,
        cumulative_moves(*arrays, values.settled) if cumulative else none,
        values.log_total + log_first,
        values.log_excess,
    )


def _moves(replicas: Replicas, law: ReplicaLaw, largest: FloatArray) -> _Moves:
    from hockeystick.schemes.simulation.replica_tables import fill_moves, row_starts

    order, most, _ = replicas
    copies = law.copies.size
    slots = (largest.size - 1) * copies
    ways = ways_to_choose(max(most, order) + max(slots, copies) + 1)
    states = number_of_states(most, largest.size, copies)
    starts = row_starts(order, most, slots, copies, states, ways)
    weights, charges = np.empty(starts[-1]), np.empty(starts[-1])
    targets = np.empty(starts[-1], dtype=np.int32)
    joined = np.empty((starts[-1], copies), dtype=np.int16)
    log_rates = np.log(law.rate * law.copies) + law.log_factor
    outputs = (starts, weights, targets, charges, joined)
    log_miss = math.log1p(-law.rate)
    fill_moves(order, most, ways, log_rates, log_miss, largest, *outputs)
    return _Moves(starts, weights, targets, charges, joined)


@lru_cache(maxsize=4)
def column_products(strategy: Strategy, separation: int) -> FloatArray:
    """<column t, column t - d> for d below the separation, zero where there is no such column."""
    steps, bands = strategy.steps, strategy.bands
    result = np.zeros((steps, separation))
    coefficients = strategy.coefficients
    matrix = strategy.to_matrix() if coefficients is None else None
    for d in range(min(bands, steps)):
        if matrix is not None:
            result[d:, d] = np.einsum("ij,ij->j", matrix[:, d:], matrix[:, : steps - d])
            continue
        assert coefficients is not None
        # Column t ends after n - t entries, the last row of the run.
        sums = np.cumsum(coefficients[: bands - d] * coefficients[d:])
        entries = np.minimum(steps - np.arange(d, steps), sums.size)
        result[d:, d] = sums[entries - 1]
    return result
