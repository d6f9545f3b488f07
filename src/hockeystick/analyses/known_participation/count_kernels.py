"""How much a participant takes part in a run: laws of sums of squares, step by step.

Rows are measures on T = 0, 1, ..., most, where T is the sum over the steps so far of the square of
the number of copies in each; what exceeds `most` is counted there. All terms are positive, so every
entry is accurate relative to itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = ["excluded_counts", "restarting_counts"]


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
