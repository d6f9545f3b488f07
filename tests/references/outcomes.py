"""Discrete pairs by enumeration: a pair is the list of its outcomes (p, q), in fifty digits.

No likelihood ratios, no losses, no grids: composition multiplies probabilities of all tuples of
outcomes, and the hockey-stick divergence is the sum of the positive parts of p - e^epsilon q.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import mpmath

__all__ = [
    "Outcomes",
    "allocate",
    "average",
    "best_event",
    "compose",
    "hockey_stick",
    "most_powerful",
    "number",
    "outcomes",
    "power",
    "reverse",
    "smallest_epsilon",
    "subsample",
]

Outcomes = list[tuple[Any, Any]]

exact = mpmath.mp.clone()
exact.dps = 50


def number(value: float) -> Any:
    """The value as a fifty-digit number."""
    return exact.mpf(value)


def outcomes(p: Iterable[float], q: Iterable[float]) -> Outcomes:
    """The pair with these two probability vectors."""
    return [(number(a), number(b)) for a, b in zip(p, q, strict=True)]


def compose(*pairs: Outcomes) -> Outcomes:
    """All tuples of outcomes, probabilities multiplied."""
    return [
        (exact.fprod(p for p, _ in combination), exact.fprod(q for _, q in combination))
        for combination in itertools.product(*pairs)
    ]


def power(pair: Outcomes, count: int) -> Outcomes:
    """The pair composed with itself."""
    return compose(*[pair] * count)


def subsample(pair: Outcomes, rate: float) -> Outcomes:
    """With probability `rate` the output of P, otherwise that of Q."""
    rate = number(rate)
    return [((1 - rate) * q + rate * p, q) for p, q in pair]


def allocate(pair: Outcomes, steps: int) -> Outcomes:
    """A uniformly chosen step runs P, all others Q."""
    result = []
    for combination in itertools.product(pair, repeat=steps):
        q = exact.fprod(q for _, q in combination)
        p = exact.mpf(0)
        for chosen in range(steps):
            p += exact.fprod(
                pair[0] if i == chosen else pair[1] for i, pair in enumerate(combination)
            )
        result.append((p / steps, q))
    return result


def average(first: Outcomes, second: Outcomes, weight: float) -> Outcomes:
    """P runs in the first part with probability `weight`, in the second otherwise."""
    weight = number(weight)
    return [
        (weight * p * b + (1 - weight) * q * a, q * b)
        for (p, q), (a, b) in itertools.product(first, second)
    ]


def reverse(pair: Outcomes) -> Outcomes:
    """P and Q exchanged."""
    return [(q, p) for p, q in pair]


def hockey_stick(pair: Outcomes, epsilon: float) -> Any:
    """Sum of the positive parts of p - e^epsilon q."""
    gamma = exact.exp(number(epsilon))
    return exact.fsum(max(p - gamma * q, 0) for p, q in pair)


def best_event(pair: Outcomes, epsilon: float) -> Any:
    """The largest P(S) - e^epsilon Q(S) over all 2^n events S."""
    gamma = exact.exp(number(epsilon))
    gains = [p - gamma * q for p, q in pair]
    events = itertools.product((False, True), repeat=len(pair))
    return max(
        exact.fsum(gain for gain, inside in zip(gains, event, strict=True) if inside)
        for event in events
    )


def smallest_epsilon(pair: Outcomes, delta: float) -> float:
    """The smallest epsilon >= 0 with hockey stick at most delta, by bisection."""
    if exact.fsum(p for p, q in pair if q == 0) > delta:
        return math.inf
    if hockey_stick(pair, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while hockey_stick(pair, high) > delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if hockey_stick(pair, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def most_powerful(pair: Outcomes, alpha: float) -> Any:
    """Smallest type II error at type I error alpha: the best mixture of two events."""
    points = _errors_of_all_events(pair)
    alpha = number(alpha)
    best = exact.mpf(1)
    for (a, b), (c, d) in itertools.product(points, repeat=2):
        if a <= alpha <= c:
            share = (alpha - a) / (c - a) if c > a else 0
            best = min(best, b + share * (d - b))
    return best


def _errors_of_all_events(pair: Outcomes) -> Sequence[tuple[Any, Any]]:
    """(Q(S), 1 - P(S)) for every rejection region S."""
    points = []
    for event in itertools.product((False, True), repeat=len(pair)):
        inside = [outcome for outcome, chosen in zip(pair, event, strict=True) if chosen]
        outside = [outcome for outcome, chosen in zip(pair, event, strict=True) if not chosen]
        points.append((exact.fsum(q for _, q in inside), exact.fsum(p for p, _ in outside)))
    return points
