"""The worst rule against a filter on mechanisms with a few outcomes, by dynamic programming."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy.stats import norm

Pair = tuple[np.ndarray, np.ndarray]
# The mechanism that the last of these choices gets, after the others; None if it is refused.
After = Callable[[tuple[int, ...]], Pair | None]


def worst_height(
    after: After,
    *,
    choices: int,
    epsilon: float | Callable[[tuple[int, ...]], float],
    longest: int,
    exhaustive: bool = True,
) -> float:
    """max over rules of sum over outputs of (P - e^epsilon Q)+, by going through all of them.

    After each output the rule may choose any mechanism that is still permitted, or stop. The
    epsilon may depend on what was chosen, as that of an odometer. Unless it is not `exhaustive`,
    nothing may be permitted after the longest runs.
    """
    known = cache(after)
    gamma = cache(lambda chosen: math.exp(epsilon(chosen) if callable(epsilon) else epsilon))

    @cache
    def value(chosen: tuple[int, ...], log_ratio: float) -> float:
        """Of a run so far whose likelihood ratio is known, per mass of Q."""
        ratio = math.exp(log_ratio)
        best = max(ratio - gamma(chosen), 0.0)
        for index in range(choices):
            then = (*chosen, index)
            pair = known(then)
            if pair is None:
                continue
            assert len(chosen) < longest or not exhaustive
            if len(chosen) < longest:
                parts = zip(*(masses.tolist() for masses in pair), strict=True)
                total = [
                    # Where Q has no mass all of P counts, whatever follows.
                    b * value(then, round(log_ratio + math.log(a / b), 12))
                    if a and b
                    else a * ratio
                    for a, b in parts
                ]
                best = max(best, math.fsum(total))
        return best

    return value((), 0.0)


def both_directions(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """The pairs as they are, and exchanged."""
    return [list(pairs), [(q, p) for p, q in pairs]]


def binned(mu: float, cuts: Sequence[float], rate: float = 1.0) -> Pair:
    """The bins of a sampled N(mu, 1) against those of N(0, 1): computed from its output."""
    edges = np.array([-math.inf, *cuts, math.inf])
    without = np.diff(norm.cdf(edges))
    return (1 - rate) * without + rate * np.diff(norm.cdf(edges - mu)), without
