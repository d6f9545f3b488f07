"""Replicas with secret phases: all patterns of phases up to rotation, and draws; compiled.

A pattern is c_0 = 0 <= c_1 <= ... < groups, the phases of the replicas relative to the first one.
The state between two participations has a bit for each replica: whether it took the last of its
turns.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["draw_phases", "fill_all_turns", "list_patterns"]

IntArray = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _rotations(phases: IntArray, groups: int) -> int:
    """The number of different rotations of the gaps, if no rotation is smaller; otherwise 0."""
    order = phases.size
    gaps = np.empty(order, np.int64)
    for j in range(order):
        gaps[j] = (phases[j + 1] if j + 1 < order else groups) - phases[j]
    for r in range(1, order):
        compared = 0
        for j in range(order):
            other = gaps[(j + r) % order]
            if other != gaps[j]:
                compared = 1 if other > gaps[j] else -1
                break
        if compared == 0:
            return r
        if compared < 0:
            return 0
    return order


@njit(cache=True, nogil=True)
def _fields(phases: IntArray, groups: int, pulls: FloatArray, fields: FloatArray) -> None:
    """fields[j, b] is what replica j gains from the bits b of the others, in each of its turns."""
    order = phases.size
    for j in range(order):
        for b in range(2**order):
            total = 0.0
            for i in range(order):
                if b >> i & 1 and i != j:
                    distance = phases[j] - phases[i] + (0 if i < j else groups)
                    total += pulls[distance]
            fields[j, b] = total


@njit(cache=True, nogil=True)
def _turn_back(j: int, rate: float, growth: FloatArray, value: FloatArray, new: FloatArray) -> None:
    """new[b] is the value before the turn of replica j, whose old bit does not matter."""
    bit = 1 << j
    for b in range(value.size):
        new[b] = (1 - rate) * value[b & ~bit] + rate * growth[b] * value[b | bit]


@njit(cache=True, nogil=True)
def _log_weight(
    rate: float, rounds: int, growth: FloatArray, value: FloatArray, new: FloatArray
) -> float:
    """log of the mean of e^(attraction) over all participations in so many rounds."""
    log = 0.0
    value[:] = 1.0
    for _ in range(rounds):
        for j in range(growth.shape[0] - 1, -1, -1):
            _turn_back(j, rate, growth[j], value, new)
            value[:] = new
        scale = value[0]
        log += math.log(scale)
        for b in range(value.size):
            value[b] /= scale
    return log


@njit(cache=True, nogil=True)
def list_patterns(
    order: int,
    groups: int,
    rate: float,
    rounds: int,
    pulls: FloatArray,
    patterns: IntArray,
    logs: FloatArray,
) -> int:
    """Fill in the patterns of which no rotation is smaller, with log of their total weight.

    That is the probability of the pattern and all its rotations times the mean of e^(attraction).
    Returns their number. pulls[d] is the attraction of participations d steps apart.
    """
    states = 2**order
    phases, fields = np.zeros(order, np.int64), np.empty((order, states))
    value, new = np.empty(states), np.empty(states)
    count = 0
    while True:
        rotations = _rotations(phases, groups)
        if rotations > 0:
            _fields(phases, groups, pulls, fields)
            # An orbit has groups * rotations / order different multisets of phases.
            log = math.log(groups * rotations / order) - order * math.log(groups)
            log += math.lgamma(order + 1.0)
            run = 1
            for j in range(1, order + 1):
                if j < order and phases[j] == phases[j - 1]:
                    run += 1
                else:
                    log -= math.lgamma(run + 1.0)
                    run = 1
            patterns[count] = phases
            logs[count] = log + _log_weight(rate, rounds, np.exp(fields), value, new)
            count += 1
        j = order - 1
        while j > 0 and phases[j] == groups - 1:
            j -= 1
        if j <= 0:
            return count
        phases[j] += 1
        for i in range(j + 1, order):
            phases[i] = phases[j]


@njit(cache=True, nogil=True)
def _fill_turns(rate: float, growth: FloatArray, turns: FloatArray) -> None:
    """turns[i] are the values before turn i, relative to that of nobody having joined a round."""
    order = growth.shape[0]
    turns[-1] = 1.0
    for i in range(turns.shape[0] - 2, -1, -1):
        _turn_back(i % order, rate, growth[i % order], turns[i + 1], turns[i])
        if i % order == 0:
            turns[i] /= turns[i, 0]


@njit(cache=True, nogil=True)
def fill_all_turns(
    groups: int, rate: float, pulls: FloatArray, patterns: IntArray, tables: FloatArray
) -> None:
    """The values of every pattern."""
    order = patterns.shape[1]
    fields = np.empty((order, 2**order))
    for which in range(patterns.shape[0]):
        _fields(patterns[which], groups, pulls, fields)
        _fill_turns(rate, np.exp(fields), tables[which])


@njit(cache=True, nogil=True)
def draw_phases(
    rng: np.random.Generator,
    groups: int,
    rate: float,
    rounds: int,
    steps: int,
    pulls: FloatArray,
    products: FloatArray,
    patterns: IntArray,
    cumulative: FloatArray,
    kept: FloatArray,
    where: IntArray,
    times: IntArray,
    number: IntArray,
    logs: FloatArray,
    attractions: FloatArray,
) -> None:
    """Rows of steps that are joined, by how many; true attractions, and less those of the tables.

    A pattern, a rotation, and then turn by turn. Turns outside of the run do not count. `kept` has
    the values of all patterns, or is empty; then they are computed for each draw.
    """
    order = patterns.shape[1]
    states = 2**order
    fields = np.empty((order, states))
    tables = np.empty((rounds * order + 1 if kept.size == 0 else 0, states))
    for d in range(number.size):
        found = int(np.searchsorted(cumulative, rng.random(), side="right"))
        which = min(found, cumulative.size - 1)
        phases = patterns[which]
        _fields(phases, groups, pulls, fields)
        growth = np.exp(fields)
        if kept.size == 0:
            _fill_turns(rate, growth, tables)
        turns = tables if kept.size == 0 else kept[which]
        first, count, b, true, table = int(rng.random() * groups), 0, 0, 0.0, 0.0
        for turn in range(rounds * order):
            j = turn % order
            bit, after = 1 << j, turns[turn + 1]
            joins = rate * growth[j, b] * after[b | bit]
            misses = (1 - rate) * after[b & ~bit]
            if rng.random() * (joins + misses) >= joins:
                b &= ~bit
                continue
            table += fields[j, b]
            b |= bit
            t = phases[j] + first + (turn // order - 1) * groups
            if not 0 <= t < steps:
                continue
            for i in range(count - 1, -1, -1):
                if t - where[d, i] >= products.shape[1]:
                    break
                true += times[d, i] * products[t, t - where[d, i]]
            if count > 0 and where[d, count - 1] == t:
                times[d, count - 1] += 1
            else:
                where[d, count], times[d, count] = t, 1
                count += 1
        number[d], logs[d], attractions[d] = count, true - table, true
