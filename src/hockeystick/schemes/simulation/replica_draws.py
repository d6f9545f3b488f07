"""Drawing tuples of replicas by the tables of replica_tables.py; compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.replica_tables import IntArray

__all__ = ["draw_tuples"]

# The last participation of a replica that has none.
NEVER = -(2**40)


@njit(cache=True, nogil=True)
def _drawn_move(
    u: float,
    begin: int,
    end: int,
    weights: FloatArray,
    targets: NDArray[np.int32],
    value: FloatArray,
    odds: float,
) -> int:
    """A move in proportion to weight * value * odds^k."""
    total, factor = 0.0, 1.0
    for move in range(begin, end):
        total += factor * weights[move] * value[targets[move]]
        factor *= odds
    u *= total
    k, factor, reached = 0, 1.0, weights[begin] * value[targets[begin]]
    while k < end - begin - 1 and u >= reached:
        k += 1
        factor *= odds
        reached += factor * weights[begin + k] * value[targets[begin + k]]
    return k


@njit(cache=True, nogil=True)
def _settled_move(u: float, begin: int, end: int, cumulative: FloatArray) -> int:
    k = 0
    while k < end - begin - 1 and u >= cumulative[begin + k]:
        k += 1
    return k


@njit(cache=True, nogil=True)
def _drop_oldest(followed: IntArray, size: int, inside: NDArray[np.bool_]) -> int:
    """Take the first of the followed replicas out; its label."""
    label = int(followed[0])
    inside[label] = False
    for i in range(1, size):
        followed[i - 1] = followed[i]
    return label


@njit(cache=True, nogil=True)
def _join(
    rng: np.random.Generator,
    t: int,
    k: int,
    inside: NDArray[np.bool_],
    last: IntArray,
    pulls: FloatArray,
    joining: IntArray,
    copies: FloatArray,
    held: IntArray,
) -> float:
    """Choose k of those who may join; the true attraction, or -inf if one of them has to rest.

    `held` has the copies of the last participation of each, drawn here for those who join.
    """
    separation, candidates = pulls.shape[1], 0
    for j in range(last.size):
        if not inside[j]:
            joining[candidates] = j
            candidates += 1
    excluded = False
    for i in range(k):
        chosen = i + int(rng.random() * (candidates - i))
        joining[i], joining[chosen] = joining[chosen], joining[i]
        excluded = excluded or t - last[joining[i]] < separation
    if excluded:
        return -np.inf
    total, squares = 0, 0
    for label in joining[:k]:
        number = 1
        if copies.size > 1:
            u = rng.random()
            while number < copies.size and u >= copies[number - 1]:
                number += 1
        held[label] = number
        total += number
        squares += number * number
    attraction = 0.0
    for j in range(last.size):
        if t - last[j] < separation:
            attraction += total * held[j] * pulls[t, t - last[j]]
    return float(attraction + pulls[t, 0] * ((total * total - squares) / 2))


@njit(cache=True, nogil=True)
def _log_law(
    t: int,
    joining: IntArray,
    last: IntArray,
    held: IntArray,
    gaps: FloatArray,
    firsts: FloatArray,
    factors: FloatArray,
) -> tuple[float, int]:
    """log of true over table probability of those who join, copies included; all the copies."""
    log, total = 0.0, 0
    for label in joining:
        total += held[label]
        log -= factors[held[label] - 1]
        if gaps.size > 0:
            log += firsts[t] if last[label] == NEVER else gaps[t - last[label]]
    return log, total


@njit(cache=True, nogil=True)
def _log_ends(last: IntArray, steps: int, firsts: FloatArray, ends: FloatArray) -> float:
    """What `_log_law` is for joining no more."""
    log = 0.0
    if ends.size > 0:
        for t in last:
            log += firsts[steps] if t == NEVER else ends[steps - 1 - t]
    return log


@njit(cache=True, nogil=True)
def _table_attraction(
    t: int, k: int, followed: IntArray, size: int, last: IntArray, largest: FloatArray
) -> float:
    """What the table gives for k that join: with each other, and with those that are followed."""
    total = largest[0] * (k * (k - 1) / 2)
    for i in range(size):
        total += k * largest[t - last[followed[i]]]
    return float(total)


@njit(cache=True, nogil=True)
def _no_longer_followed(
    t: int,
    separation: int,
    room: int,
    followed: IntArray,
    size: int,
    last: IntArray,
    inside: NDArray[np.bool_],
    misses: FloatArray,
) -> tuple[int, float]:
    """Those who have rested, and those who are let go for lack of room, after step t.

    How many are followed, and what the table has those miss that still rest.
    """
    while size > 0 and t + 1 - last[followed[0]] >= separation:
        _drop_oldest(followed, size, inside)
        size -= 1
    missed = 0.0
    while size > room:
        label = _drop_oldest(followed, size, inside)
        size -= 1
        missed += misses[min(last[label] + separation - 1, misses.size - 1)] - misses[t]
    return size, missed


@njit(cache=True, nogil=True)
def draw_tuples(
    rng: np.random.Generator,
    starts: IntArray,
    weights: FloatArray,
    targets: NDArray[np.int32],
    charges: FloatArray,
    cumulative: FloatArray,
    tables: FloatArray,
    first: FloatArray,
    odds: FloatArray,
    settled: FloatArray,
    largest: FloatArray,
    pulls: FloatArray,
    misses: FloatArray,
    law: tuple[FloatArray, FloatArray, FloatArray],
    copies: tuple[FloatArray, FloatArray],
    where: IntArray,
    times: IntArray,
    number: IntArray,
    logs: FloatArray,
    attractions: FloatArray,
) -> None:
    """Rows of steps in which replicas join, how many do, and log of true over table weight.

    `attractions` are the true attractions of all pairs of a tuple.

    `largest[d]` are the pulls of the tables, pulls[t, d] the true ones. The first steps have the
    values `first`, and `odds` of joining relative to those of the other steps. While more steps are
    left than there are tables, moves have their settled probabilities `cumulative`; at the first
    table its value over the settled one counts. Missing the steps up to t has the logarithm
    misses[t]. `law` and `copies` are the corrections of replica_laws.py: gaps, firsts and ends;
    cumulative probabilities of copies, and logarithms of their factors.
    """
    steps, separation = pulls.shape
    gaps, firsts, ends = law
    cumulated, factors = copies
    held = np.empty(starts[1] - starts[0] - 1, np.int64)
    order = starts[1] - starts[0] - 1
    followed, joining = np.empty(order, np.int64), np.empty(order, np.int64)
    last, inside = np.empty(order, np.int64), np.empty(order, np.bool_)
    for d in range(number.size):
        last[:], inside[:] = NEVER, False
        s, log, count, size, attraction = 0, 0.0, 0, 0, 0.0
        for t in range(steps):
            begin, end, left = starts[s], starts[s + 1], steps - 1 - t
            if t < odds.size:
                k = _drawn_move(rng.random(), begin, end, weights, targets, first[t + 1], odds[t])
            elif left + 1 >= tables.shape[0]:
                k = _settled_move(rng.random(), begin, end, cumulative)
            else:
                k = _drawn_move(rng.random(), begin, end, weights, targets, tables[left], 1.0)
            move = begin + k
            if k > 0:
                log -= charges[move] + _table_attraction(t, k, followed, size, last, largest)
                attraction += _join(rng, t, k, inside, last, pulls, joining, cumulated, held)
                if attraction == -np.inf:
                    break
                more, total = _log_law(t, joining[:k], last, held, gaps, firsts, factors)
                log += more
                for label in joining[:k]:
                    last[label], followed[size], inside[label] = t, label, True
                    size += 1
                where[d, count], times[d, count] = t, total
                count += 1
            s = targets[move]
            room = order - (starts[s + 1] - starts[s] - 1)
            size, missed = _no_longer_followed(
                t, separation, room, followed, size, last, inside, misses
            )
            log -= missed
            if left + 1 == tables.shape[0]:
                log += math.log(tables[left, s] / settled[s])
        if attraction > -np.inf:
            log += _log_ends(last, steps, firsts, ends)
        number[d], logs[d], attractions[d] = count, log + attraction, attraction
