"""The law of how much one participant takes part in a run, rounded upwards.

T is the sum over the steps of the squared number of copies. Whatever grows with T has at most the
mean under this law: probabilities are increased by their floating-point error, from the largest T
down, and what is rare or costs too much to tell apart counts as the largest T that there can be.

Rows of a table are measures on T = 0, 1, ..., most, for the steps so far; what exceeds `most` is
counted there. All terms are positive, so every entry is accurate relative to itself. The
recursions are compiled: this file is imported where a law is wanted.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.capabilities import Participant

__all__ = [
    "CountLaw",
    "common_copies",
    "count_law",
    "counts_at_least",
    "excluded_counts",
    "restarting_counts",
]


@njit(cache=True, nogil=True)
def _add_draws(eligible: FloatArray, copies: FloatArray, out: FloatArray) -> None:
    """Add what joins when it is eligible, with the squares of its copies counted."""
    most = out.size - 1
    for j in range(1, copies.size):
        chance = copies[j]
        if chance == 0.0:
            continue
        square = min(j * j, most)
        inside = most + 1 - square
        for total in range(inside):
            out[total + square] += chance * eligible[total]
        for total in range(inside, most + 1):
            out[most] += chance * eligible[total]


@njit(cache=True, nogil=True)
def excluded_counts(copies: FloatArray, starts: FloatArray, steps: int, most: int) -> FloatArray:
    """Excluded for a while after each participation; draws during that time have no effect.

    `copies` are the probabilities of 0, 1, ... copies in a step, `starts` those of being
    eligible from step 0, 1, ..., separation - 1 on. O(steps * most * copies).
    """
    separation = starts.size
    joined = np.zeros((separation, most + 1))
    eligible = np.zeros(most + 1)
    for t in range(steps):
        row = joined[t % separation]
        if t < separation:
            eligible[0] += starts[t]
        eligible += row
        row[:] = 0.0
        _add_draws(eligible, copies, row)
        eligible *= copies[0]
    for t in range(steps, separation):
        eligible[0] += starts[t]
    for s in range(separation):
        eligible += joined[s]
    return eligible


@njit(cache=True, nogil=True)
def restarting_counts(
    copies: FloatArray, exclusion: int, rounds: int, steps: int, most: int
) -> FloatArray:
    """[DongGanesh26, Algorithm 3]: excluded for `exclusion` steps after every draw.

    With d_t what is drawn in step t, eligible or not, and q the probability of drawing nothing, the
    sum of q^(a-1) d_(t-a) over a = 1, ..., `exclusion` is what is excluded in step t, and
    q^exclusion d_(t-exclusion) becomes eligible after it. The window of that sum is cut where
    blocks of `exclusion` steps meet: before the cut sums to the end of the block are kept
    (`tails`), after it one sum is (`recent`), and nothing is ever subtracted. The first step
    follows `rounds` rounds of warm-up. O(steps * most * copies).
    """
    none, some = copies[0], copies[1:].sum()
    before, block = np.zeros((exclusion, most + 1)), np.zeros((exclusion, most + 1))
    tails = np.zeros((exclusion, most + 1))
    eligible, recent = np.zeros(most + 1), np.zeros(most + 1)
    known = min(rounds, exclusion)
    eligible[0] = none**known
    before[exclusion - known :, 0] = some
    _sums_to_the_end(before, none, tails)
    for t in range(steps):
        i = t % exclusion
        if i == 0 and t > 0:
            before, block = block, before
            _sums_to_the_end(before, none, tails)
            recent[:] = 0.0
        drawn = block[i]
        missed = none**i
        for k in range(most + 1):
            drawn[k] = some * (recent[k] + missed * tails[i, k])
        _add_draws(eligible, copies, drawn)
        eligible *= none
        eligible += none**exclusion * before[i]
        recent *= none
        recent += drawn
    i = steps % exclusion
    if i > 0:
        eligible += none**i * tails[i]
    return eligible + recent


@njit(cache=True, nogil=True)
def _sums_to_the_end(block: FloatArray, none: float, tails: FloatArray) -> None:
    """Row i: the sum over j >= i of none^(last - j) times row j of the block."""
    last = block.shape[0] - 1
    for k in range(block.shape[1]):
        tails[last, k] = block[last, k]
    for i in range(last - 1, -1, -1):
        missed = none ** (last - i)
        for k in range(block.shape[1]):
            tails[i, k] = missed * block[i, k] + tails[i + 1, k]


# Probability that may be counted as the largest T for the sake of a shorter table, and as the
# largest number of copies in all steps together: nothing beside any delta.
RARE, RARE_COPIES = 1e-30, 1e-33
# What additions of numbers too small for floating point may have lost.
UNDERFLOW = 1e-300
# Entries of a table: 40 megabytes.
MOST_ENTRIES = 5e6


class CountLaw(NamedTuple):
    """Values of T in increasing order, the first of them 0, with probabilities that sum to one."""

    values: FloatArray
    weights: FloatArray


@lru_cache(maxsize=256)
def count_law(participant: Participant, *, operations: float) -> CountLaw:
    """The law of T, in about so many operations, with errors on the side of large T."""
    largest = _largest(participant)
    passes = np.count_nonzero(common_copies(participant)) + 1
    affordable = operations / (participant.steps * passes)
    room = max(1, int(min(largest, affordable, MOST_ENTRIES / participant.separation)))
    most = min(room, _first_table(participant))
    counts = _counts(participant, most)
    while most < room and counts[-1] > RARE:
        most = min(room, 2 * most)
        counts = _counts(participant, most)
    weights = counts * (1 + _rounding(participant))
    weights[-1] += UNDERFLOW
    above = np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)
    weights = np.clip(1 - above, 0.0, weights)
    weights[0] = max(1 - above[0], 0.0)
    values = np.append(np.arange(most, dtype=float), largest)
    kept = weights > 0
    kept[0] = True
    return CountLaw(values[kept], weights[kept])


@lru_cache(maxsize=64)
def counts_at_least(participant: Participant, *, operations: float) -> CountLaw:
    """The law of T with all errors on the side of small T; its probabilities may miss some.

    For one example T is the number of participations. What the table does not tell apart counts as
    its last entry, and what is too small for floating point is left out.
    """
    affordable = operations / (participant.steps * (participant.most_copies + 1))
    room = int(min(_largest(participant), affordable, MOST_ENTRIES / participant.separation))
    most = max(1, min(room, _first_table(participant)))
    weights = _counts(participant, most) * (1 - _rounding(participant))
    weights[weights < UNDERFLOW] = 0.0
    return CountLaw(np.arange(most + 1.0), weights)


def _first_table(participant: Participant) -> int:
    """A dozen standard deviations above the mean, had nobody to wait for longer than they must."""
    copies = np.array(participant.copy_probabilities)
    some = float(copies[1:].sum())
    share = 1 / (1 + (participant.separation - 1) * some)
    squares = np.arange(copies.size) ** 2
    mean = participant.steps * share * float(squares @ copies)
    spread = math.sqrt(participant.steps * share * float(squares**2 @ copies))
    return math.ceil(mean + 12 * spread) + 4 * int(squares[-1])


def _largest(participant: Participant) -> int:
    """All copies, as often as the separation allows."""
    most_copies = len(participant.copy_probabilities) - 1
    return most_copies**2 * -(-participant.steps // participant.separation)


def common_copies(participant: Participant) -> FloatArray:
    """The probabilities of copies; numbers that hardly ever happen count as the largest."""
    copies = np.array(participant.copy_probabilities)
    at_least = np.cumsum(copies[::-1])[::-1]
    rare = np.flatnonzero(participant.steps * at_least[1:] < RARE_COPIES) + 1
    if rare.size:
        copies[rare] = 0.0
        copies[-1] = at_least[rare[0]]
    return copies


def _counts(participant: Participant, most: int) -> FloatArray:
    """Probabilities of T = 0, 1, ..., most - 1, and of at least `most`, up to rounding."""
    copies, steps = common_copies(participant), participant.steps
    if participant.starts is None and participant.separation > 1:
        exclusion = participant.separation - 1
        return restarting_counts(
            copies, exclusion, min(participant.warm_up, exclusion), steps, most
        )
    starts = np.array((1.0,) if participant.starts is None else participant.starts)
    return excluded_counts(copies, starts, steps, most)


def _rounding(participant: Participant) -> float:
    """Relative error of the counts: a few roundings for each step, and those of the inputs."""
    steps = participant.steps + participant.warm_up
    operations = steps * (len(participant.copy_probabilities) + 4) + participant.separation + 100.0
    if participant.starts is not None and participant.warm_up > 0:
        # The chance of joining was found as what is missing to one.
        operations += 1 / max(math.fsum(participant.copy_probabilities[1:]), 1e-100)
    return 4 * float(np.finfo(float).eps) * operations
