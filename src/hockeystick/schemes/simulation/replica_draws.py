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
    joined: NDArray[np.int16],
    odds: float,
) -> int:
    """A move in proportion to weight * value * odds^k, k the replicas that join."""
    total = 0.0
    for move in range(begin, end):
        factor = 1.0 if odds == 1.0 else odds ** joined[move].sum()
        total += factor * weights[move] * value[targets[move]]
    u *= total
    move, reached = begin, weights[begin] * value[targets[begin]]
    while move < end - 1 and u >= reached:
        move += 1
        factor = 1.0 if odds == 1.0 else odds ** joined[move].sum()
        reached += factor * weights[move] * value[targets[move]]
    return move


@njit(cache=True, nogil=True)
def _settled_move(u: float, begin: int, end: int, cumulative: FloatArray) -> int:
    move = begin
    while move < end - 1 and u >= cumulative[move]:
        move += 1
    return move


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
    numbers: NDArray[np.int16],
    inside: NDArray[np.bool_],
    last: IntArray,
    held: IntArray,
    separation: int,
    joining: IntArray,
) -> int:
    """Choose those who join, the most copies first; how many, or -1 if one of them has to rest.

    `held` has the copies of the last participation of each, and `numbers` says how many join with
    1, 2, ... copies.
    """
    candidates = 0
    for j in range(last.size):
        if not inside[j]:
            joining[candidates] = j
            candidates += 1
    k, excluded = 0, False
    for c in range(numbers.size - 1, -1, -1):
        for _ in range(numbers[c]):
            chosen = k + int(rng.random() * (candidates - k))
            joining[k], joining[chosen] = joining[chosen], joining[k]
            excluded = excluded or t - last[joining[k]] < separation
            held[joining[k]] = c + 1
            k += 1
    return -1 if excluded else k


@njit(cache=True, nogil=True)
def _copies_of(numbers: NDArray[np.int16]) -> tuple[int, int]:
    """All copies of those who join, and the sum of their squares."""
    total, squares = 0, 0
    for c in range(numbers.size):
        total += numbers[c] * (c + 1)
        squares += numbers[c] * (c + 1) ** 2
    return total, squares


@njit(cache=True, nogil=True)
def _attraction(
    t: int,
    total: int,
    squares: int,
    labels: IntArray,
    last: IntArray,
    held: IntArray,
    pulls: FloatArray,
) -> float:
    """Of joining with `total` copies, `squares` the sum of squared ones, by those who rest."""
    found = pulls[0] * ((total * total - squares) / 2)
    for j in labels:
        if t - last[j] < pulls.size:
            found += total * held[j] * pulls[t - last[j]]
    return float(found)


@njit(cache=True, nogil=True)
def _log_law(
    t: int, joining: IntArray, last: IntArray, gaps: FloatArray, firsts: FloatArray
) -> float:
    """log of true over table probability of those who join."""
    log = 0.0
    if gaps.size > 0:
        for label in joining:
            log += firsts[t] if last[label] == NEVER else gaps[t - last[label]]
    return log


@njit(cache=True, nogil=True)
def _log_ends(last: IntArray, steps: int, firsts: FloatArray, ends: FloatArray) -> float:
    """What `_log_law` is for joining no more."""
    log = 0.0
    if ends.size > 0:
        for t in last:
            log += firsts[steps] if t == NEVER else ends[steps - 1 - t]
    return log


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
    joined: NDArray[np.int16],
    cumulative: FloatArray,
    tables: FloatArray,
    first: FloatArray,
    odds: FloatArray,
    settled: FloatArray,
    largest: FloatArray,
    pulls: FloatArray,
    misses: FloatArray,
    law: tuple[FloatArray, FloatArray, FloatArray],
    where: IntArray,
    times: IntArray,
    number: IntArray,
    logs: FloatArray,
    attractions: FloatArray,
) -> None:
    """Rows of steps in which replicas join, the copies, and log of true over table weight.

    `attractions` are the true attractions of all pairs of a tuple.

    `largest[d]` are the pulls of the tables, pulls[t, d] the true ones. The first steps have the
    values `first`, and `odds` of joining relative to those of the other steps. While more steps are
    left than there are tables, moves have their settled probabilities `cumulative`; at the first
    table its value over the settled one counts. Missing the steps up to t has the logarithm
    misses[t]. `law` has the gaps, firsts and ends of replica_states.py.
    """
    steps, separation = pulls.shape
    gaps, firsts, ends = law
    order = int(joined[starts[1] - 1].sum())
    followed, joining = np.empty(order, np.int64), np.empty(order, np.int64)
    last, inside = np.empty(order, np.int64), np.empty(order, np.bool_)
    held, labels = np.zeros(order, np.int64), np.arange(order)
    for d in range(number.size):
        last[:], inside[:] = NEVER, False
        s, log, count, size, attraction = 0, 0.0, 0, 0, 0.0
        for t in range(steps):
            begin, end, left = starts[s], starts[s + 1], steps - 1 - t
            if t < odds.size:
                value, odd = first[t + 1], odds[t]
                move = _drawn_move(rng.random(), begin, end, weights, targets, value, joined, odd)
            elif left + 1 >= tables.shape[0]:
                move = _settled_move(rng.random(), begin, end, cumulative)
            else:
                value = tables[left]
                move = _drawn_move(rng.random(), begin, end, weights, targets, value, joined, 1.0)
            if move > begin:
                k = _join(rng, t, joined[move], inside, last, held, separation, joining)
                if k < 0:
                    attraction = -np.inf
                    break
                total, squares = _copies_of(joined[move])
                log += _log_law(t, joining[:k], last, gaps, firsts) - charges[move]
                log -= _attraction(t, total, squares, followed[:size], last, held, largest)
                attraction += _attraction(t, total, squares, labels, last, held, pulls[t])
                for label in joining[:k]:
                    last[label], followed[size], inside[label] = t, label, True
                    size += 1
                where[d, count], times[d, count] = t, total
                count += 1
            s = targets[move]
            room = order - joined[starts[s + 1] - 1].sum()
            size, missed = _no_longer_followed(
                t, separation, room, followed, size, last, inside, misses
            )
            log -= missed
            if left + 1 == tables.shape[0]:
                log += math.log(tables[left, s] / settled[s])
        if attraction > -np.inf:
            log += _log_ends(last, steps, firsts, ends)
        number[d], logs[d], attractions[d] = count, log + attraction, attraction
