"""What tables of replicas take for a process, and what a state keeps of the steps before.

Tables (replicas.py) know one kind of process: who is eligible joins with one probability p, and
rests for separation - 1 steps. A `ReplicaLaw` says how another one is bounded by it.

A user of [DongGanesh26, Algorithm 3] with q the probability of being drawn: draws while resting
make the rest longer, by T >= 0 steps, so that the next participation comes after g steps with
probability h(g) = E[q (1 - q)^(g - b - T); T <= g - b]. That is at most k p (1 - p)^(g - b) with k
the largest ratio of the two, and every participation is given the factor k in the tables. For
p = q, k is at most E[(1 - q)^-T] = (1 - q)^(b-1) / (1 - (b-1) q/(1 - q)), which is 1 + x^2/2 for
small x = (b-1) q: hardly more than nothing. Which p costs least is searched; all are valid.

The true weight of a tuple, with its gaps, is computed for every draw.

Slots of a line: who joined earlier attracts who joins now, by what the two are apart. A slot is an
interval of steps whose replicas attract like those in the step that attracts most: that makes
weights larger and states fewer.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.capabilities import Participant, Renewal

__all__ = [
    "LineSlots",
    "ReplicaLaw",
    "first_rates",
    "number_of_moves",
    "replica_law",
    "slots_of_line",
    "ways_to_choose",
]


# Probabilities p that are tried for a user, between twice the shares of draws that are lost to
# resting and none.
TRIED = 25
# More steps are not looked at one by one; errors of floating point add up to 1e-9 for so many.
MOST_STEPS = 20_000
# What logarithms of ratios of probabilities may have lost to floating point, in the factor k.
ROUNDING = 1e-11


class ReplicaLaw(NamedTuple):
    """What tables take, and logarithms of true over table probabilities.

    `rate` after the steps that have `first_rates`; `log_factor` is log k. `gaps[g]` is about a
    participation g steps after the one before it, `firsts[t]` about the first one in step t, its
    last entry about none at all, `ends[m]` about none in the last m steps; all are zero if there
    are no entries. No replica has more than e^log_excess. `copies` are the probabilities of 1, 2,
    ... copies in a participation.
    """

    rate: float
    first_rates: FloatArray
    copies: FloatArray
    log_factor: float = 0.0
    log_excess: float = 0.0
    gaps: FloatArray = np.empty(0)
    firsts: FloatArray = np.empty(0)
    ends: FloatArray = np.empty(0)


@lru_cache(maxsize=32)
def replica_law(process: Renewal | Participant, steps: int) -> ReplicaLaw | None:
    """None if participations are certain, or if no probability bounds the gaps well."""
    if isinstance(process, Renewal):
        if not process.rate < 1:
            return None
        return ReplicaLaw(process.rate, first_rates(process, steps), np.ones(1))
    return _restarting(process, steps)


def number_of_moves(order: int, resting: int, separation: int, copies: int) -> int:
    """By the number that rest: their ages and copies, times who of the others may join."""
    slots = (separation - 1) * copies
    return sum(
        (math.comb(number + slots - 1, number) if slots else int(number == 0))
        * math.comb(order - number + copies, copies)
        for number in range(resting + 1)
    )


def first_rates(renewal: Renewal, steps: int) -> FloatArray:
    """The probabilities of joining the first steps for who has joined none before.

    With a warm start an example is eligible from step e on with probability 1/(1 + (b - 1) p) for
    e = 0 and p times as much for e = 1, ..., b - 1. From step b - 1 on it is p, and so is it from
    the first step on with a cold start.
    """
    rate, separation, warm = renewal
    if not warm:
        return np.empty(0)
    rates = np.empty(min(separation - 1, steps))
    eligible, waiting = 1.0, (separation - 1) * rate
    for t in range(rates.size):
        rates[t] = rate * eligible / (eligible + waiting)
        eligible = (1 - rate) * eligible + rate
        waiting -= rate
    return rates


def _restarting(user: Participant, steps: int) -> ReplicaLaw | None:
    copies = np.array(user.copy_probabilities)
    drawn, separation = float(copies[1:].sum()), user.separation
    if not (0 < drawn < 1 and steps <= MOST_STEPS):
        return None
    rest = separation - 1
    before = np.arange(rest)
    ages = np.where(before < user.warm_up, drawn * (1 - drawn) ** before, 0.0)
    first = _waiting(drawn, ages, steps, 1 - float(ages.sum()))
    again = _waiting(drawn, np.eye(1, rest)[0] if rest else np.empty(0), steps, float(rest == 0))
    rates = np.empty(0)
    if user.warm_up > 0:
        shown = min(rest, steps)
        held = first.eligible[:shown] + first.resting[:shown]
        rates = drawn * first.eligible[:shown] / held
    lowest = drawn * (1 - drawn) ** (2 * rest)
    found = [
        _bounded(float(rate), drawn, separation, rates, first, again)
        for rate in np.unique(np.geomspace(lowest, drawn, TRIED))
    ]
    _, law = min(found, key=lambda one: one[0])
    return law._replace(copies=copies[1:] / drawn)


class _Waiting(NamedTuple):
    """Without a participation so far: eligible and resting in step t = 0, ..., steps."""

    eligible: FloatArray
    resting: FloatArray


def _waiting(drawn: float, ages: FloatArray, steps: int, eligible: float) -> _Waiting:
    """From draws `ages` steps before the start, which are the last ones; all terms are positive."""
    rest, missed = ages.size, 1 - drawn
    out = _Waiting(np.empty(steps + 1), np.empty(steps + 1))
    # by_age[a] rests, and was drawn a + 1 steps ago.
    by_age, now = ages.copy(), eligible
    for t in range(steps + 1):
        out.eligible[t], out.resting[t] = now, by_age.sum()
        if rest:
            again = drawn * float(by_age.sum())
            now = missed * (now + float(by_age[-1]))
            by_age[1:] = missed * by_age[:-1]
            by_age[0] = again
        else:
            now *= missed
    return out


def _bounded(
    rate: float,
    drawn: float,
    separation: int,
    rates: FloatArray,
    first: _Waiting,
    again: _Waiting,
) -> tuple[float, ReplicaLaw]:
    """The law with this p; log of its total weight times its excess, for one replica."""
    from hockeystick.schemes.simulation.participation_kernels import min_sep_values

    steps, log_miss = first.eligible.size - 1, math.log1p(-rate)
    t = np.arange(steps + 1)
    with np.errstate(divide="ignore"):
        joined = np.log(drawn * again.eligible) - math.log(rate)
        gaps = np.append(-math.inf, joined[:-1] - (t[:-1] + 1 - separation) * log_miss)
        ends = np.log(again.eligible + again.resting)
        firsts = np.log(drawn * first.eligible)
        firsts[-1] = math.log(first.eligible[-1] + first.resting[-1])
    ends -= np.maximum(t - separation + 1, 0) * log_miss
    log_factor = max(float(gaps.max(initial=0.0)), 0.0) * (1 + ROUNDING) + ROUNDING
    every = np.append(rates[:steps], np.full(max(steps - rates.size, 0), rate))
    missed = np.append(0.0, np.cumsum(np.log1p(-every)))
    firsts -= missed + np.append(np.log(every), 0.0)
    gaps -= log_factor
    firsts[:-1] -= log_factor
    excess = max(float(firsts[:-1].max()) + float(ends.max()), float(firsts[-1]))
    weights = min_sep_values(np.full(steps, math.log(rate) + log_factor), log_miss, separation)
    law = ReplicaLaw(
        rate, rates, np.ones(1), log_factor, excess + ROUNDING * steps, gaps, firsts, ends
    )
    return float(weights[0]) + excess, law


IntArray = NDArray[np.int64]


class LineSlots(NamedTuple):
    """Slots before each step of a line, and the end; pulls[t] of theirs on who joins step t.

    moves[t, i] is the slot before step t + 1 of slot i before step t, or of step t itself for the
    last i; -1 for none. attraction[t, x] is that of step x on step t, if it was asked for.
    """

    sizes: IntArray
    moves: IntArray
    pulls: FloatArray
    attraction: FloatArray


def slots_of_line(
    envelope: FloatArray, most: int, *, block: int | None = None, by_step: bool = True
) -> LineSlots:
    """At most `most` slots; `envelope[d]` is the attraction at distance d on a line.

    Of neighbouring slots those are put together that lose least; never steps of two blocks of
    length `block`.
    """
    steps = envelope.size
    reach = int(np.flatnonzero(envelope)[-1]) + 1 if envelope.any() else 1
    padded = np.append(envelope, np.zeros(steps + 1))
    sizes = np.zeros(steps + 1, np.int64)
    moves = np.full((steps, most + 2), -1, np.int64)
    pulls = np.zeros((steps, most + 1))
    attraction = np.zeros((steps, steps) if by_step else (0, 0))
    slots: list[tuple[int, int]] = []
    for t in range(steps):
        sizes[t] = len(slots)
        for i, (begin, end) in enumerate(slots):
            pulls[t, i] = padded[t - end : t - begin + 1].max()
            if by_step:
                attraction[t, begin : end + 1] = pulls[t, i]
        following = [(begin, end) for begin, end in [*slots, (t, t)] if t + 1 - end < reach]
        while len(following) > most:
            losses = [
                np.inf
                if block is not None and first[0] // block != second[1] // block
                else _loss(padded, t + 1, first, second)
                for first, second in pairwise(following)
            ]
            best = int(np.argmin(losses))
            following[best : best + 2] = [(following[best][0], following[best + 1][1])]
        for i, (begin, _) in enumerate([*slots, (t, t)]):
            inside = [j for j, one in enumerate(following) if one[0] <= begin <= one[1]]
            moves[t, i] = inside[0] if inside else -1
        slots = following
    sizes[steps] = len(slots)
    return LineSlots(sizes, moves, pulls, attraction)


def _loss(padded: FloatArray, t: int, first: tuple[int, int], second: tuple[int, int]) -> float:
    """By how much the attraction of the first slot grows in all later steps, if put together."""
    near = padded[t - second[1] :]
    far = padded[t - first[1] :]
    size = min(near.size, far.size)
    return float((first[1] - first[0] + 1) * np.abs(near[:size] - far[:size]).sum())


def ways_to_choose(most: int) -> IntArray:
    """C(n, i) for n and i up to `most`; what is too large for any state is cut off."""
    table = np.zeros((most + 1, most + 1), np.int64)
    table[:, 0] = 1
    for n in range(1, most + 1):
        table[n, 1:] = np.minimum(table[n - 1, 1:] + table[n - 1, :-1], 2**61)
    return table
