"""Drawing in which steps one example, or one user's examples, take part.

A draw is a row of `where`, the steps in increasing order, with how many copies take part there in
`times`; `number` says how many entries of the row are in use. Kernels, arrays in, arrays out.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = ["IntArray", "cyclic_trajectories", "resting_trajectories", "user_trajectories"]

IntArray = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def _waiting_time(rng: np.random.Generator, log_miss: float) -> int:
    """Failures before the first success of a coin that fails with probability e^log_miss."""
    if log_miss == -math.inf:
        return 0
    # 1 - u lies in (0, 1]; beyond any run is far enough.
    return int(min(math.log1p(-rng.random()) / log_miss, 1e15))


@njit(cache=True, nogil=True)
def _first_at_most(cumulative: FloatArray, u: float) -> int:
    """The smallest index whose cumulative weight exceeds u times the total."""
    target = u * cumulative[-1]
    for i in range(cumulative.size):
        if target < cumulative[i]:
            return i
    return int(cumulative.size) - 1


@njit(cache=True, nogil=True)
def resting_trajectories(
    rng: np.random.Generator,
    chances: FloatArray,
    starts: FloatArray,
    where: IntArray,
    number: IntArray,
) -> None:
    """b-min-sep: joins a step at which it may with the step's chance, then rests.

    `starts` are the cumulative weights of being free from step 0, 1, ... on; there are `separation`
    of them. Steps that cannot be joined are skipped with the largest chance, and a step so reached
    is accepted with its own chance relative to that, so that work goes with the participations.
    """
    steps, separation = chances.size, starts.size
    largest = chances.max()
    log_miss = math.log1p(-largest) if largest < 1 else -math.inf
    for d in range(number.size):
        count = 0
        step = _first_at_most(starts, rng.random()) + _waiting_time(rng, log_miss)
        while step < steps:
            if chances[step] == largest or rng.random() * largest < chances[step]:
                where[d, count] = step
                count += 1
                step += separation
            else:
                step += 1
            step += _waiting_time(rng, log_miss)
        number[d] = count


@njit(cache=True, nogil=True)
def user_trajectories(
    rng: np.random.Generator,
    copies: FloatArray,
    ages: FloatArray,
    steps: int,
    where: IntArray,
    times: IntArray,
    number: IntArray,
) -> None:
    """b_min_sep, Algorithm 3 for one user: joins when drawn, unless drawn in the steps just before.

    `copies` are the probabilities of 0, 1, 2, ... of the user's examples being drawn in a step.
    `ages` are cumulative weights: entry a < separation - 1 of the last draw having been a + 1 steps
    before the first step, the last entry of being free.
    """
    separation = ages.size
    none = copies[0]
    log_miss = math.log(none) if none > 0 else -math.inf
    some = np.cumsum(copies[1:])
    for d in range(number.size):
        count = 0
        last = -1 - _first_at_most(ages, rng.random())
        step = _waiting_time(rng, log_miss)
        while step < steps:
            if step - last >= separation:
                where[d, count] = step
                times[d, count] = 1 + _first_at_most(some, rng.random())
                count += 1
            last = step
            step += 1 + _waiting_time(rng, log_miss)
        number[d] = count


@njit(cache=True, nogil=True)
def cyclic_trajectories(
    rng: np.random.Generator,
    rate: float,
    groups: int,
    steps: int,
    where: IntArray,
    number: IntArray,
) -> None:
    """A secret uniform group; a coin in each of its turns."""
    log_miss = math.log1p(-rate) if rate < 1 else -math.inf
    for d in range(number.size):
        count = 0
        phase = min(int(rng.random() * groups), groups - 1)
        step = phase + groups * _waiting_time(rng, log_miss)
        while step < steps:
            where[d, count] = step
            count += 1
            step += groups * (1 + _waiting_time(rng, log_miss))
        number[d] = count
