"""All ways in which one example, or one user, can take part, with their probabilities.

Written as walks over every sequence of draws, so that they share nothing with what they check. The
number of patterns grows exponentially: at most about ten steps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Patterns",
    "bin_patterns",
    "cyclic_patterns",
    "likelihood_ratio",
    "min_sep_patterns",
    "moment",
    "user_patterns",
    "without_patterns_beyond",
]

Patterns = list[tuple[float, tuple[int, ...]]]


def min_sep_patterns(steps: int, *, rate: float, separation: int, warm: bool = False) -> Patterns:
    """(probability, zeros and ones) of `MinSep`: draws of an excluded example do not count.

    After a warm start it is excluded for 1, ..., separation - 1 more steps, each with probability
    rate / (1 + (separation - 1) rate), and otherwise not at all.
    """
    each = rate / (1 + (separation - 1) * rate) if warm else 0.0
    starts = [(1 - (separation - 1) * each, 0), *((each, left) for left in range(1, separation))]

    def move(left: int, joins: int) -> tuple[int, int]:
        if left > 0:
            return left - 1, 0
        return (separation - 1 if joins else 0), joins

    found: dict[tuple[int, ...], float] = {}
    for chance, left in starts:
        if chance > 0:
            _walk(found, steps, [1 - rate, rate], start=(chance, left), move=move)
    return _listed(found)


def cyclic_patterns(steps: int, *, rate: float, groups: int) -> Patterns:
    """(probability, zeros and ones) of `CyclicPoisson` with a secret group for the example."""
    found: dict[tuple[int, ...], float] = {}
    for phase in range(groups):
        own = range(phase, steps, groups)
        for draws in itertools.product((0, 1), repeat=len(own)):
            counts = [0] * steps
            for step, drawn in zip(own, draws, strict=True):
                counts[step] = drawn
            joined = sum(draws)
            chance = rate**joined * (1 - rate) ** (len(own) - joined) / groups
            if chance > 0:
                found[tuple(counts)] = found.get(tuple(counts), 0.0) + chance
    return _listed(found)


def bin_patterns(steps: int, *, bins: int) -> Patterns:
    """(probability, zeros and ones) of `BallsInBins`."""
    return cyclic_patterns(steps, rate=1.0, groups=bins)


def user_patterns(
    steps: int,
    *,
    rate: float,
    separation: int,
    examples: int,
    by_draws: bool = True,
    warm_up: int = 0,
) -> Patterns:
    """(probability, how many of the user's examples join) for a user with so many examples.

    `by_draws` (Algorithm 3): a draw while the user is excluded begins the exclusion anew. Otherwise
    (participation-based exclusion) they have no effect. Nobody else's examples are shared. The
    first `warm_up` steps are drawn and forgotten.
    """
    law = [
        math.comb(examples, j) * rate**j * (1 - rate) ** (examples - j) for j in range(examples + 1)
    ]

    def move(left: int, drawn: int) -> tuple[int, int]:
        if left > 0:
            return (separation - 1 if drawn and by_draws else left - 1), 0
        return (separation - 1 if drawn else 0), drawn

    whole: dict[tuple[int, ...], float] = {}
    _walk(whole, warm_up + steps, law, start=(1.0, 0), move=move)
    found: dict[tuple[int, ...], float] = {}
    for counts, chance in whole.items():
        found[counts[warm_up:]] = found.get(counts[warm_up:], 0.0) + chance
    return _listed(found)


def without_patterns_beyond(patterns: Patterns, *, participations: int) -> Patterns:
    """The law when whoever has taken part in so many steps stops."""
    found: dict[tuple[int, ...], float] = {}
    for chance, counts in patterns:
        steps = itertools.accumulate(int(count > 0) for count in counts)
        kept = tuple(
            count if so_far <= participations else 0
            for count, so_far in zip(counts, steps, strict=True)
        )
        found[kept] = found.get(kept, 0.0) + chance
    return _listed(found)


def moment(patterns: Patterns, gram: NDArray[np.float64], order: int) -> float:
    """E_Q[LR^order]: the mean of e^(sum over pairs of x_r G x_s) over `order` patterns.

    `gram` holds the inner products of the columns over the variance of the noise. Sums over all
    multisets of patterns.
    """
    chances = [chance for chance, _ in patterns]
    x = np.array([counts for _, counts in patterns], dtype=float)
    kernel = x @ gram @ x.T
    terms = []
    for chosen in itertools.combinations_with_replacement(range(len(patterns)), order):
        repeats = np.unique(chosen, return_counts=True)[1]
        ways = math.factorial(order) / math.prod(math.factorial(int(r)) for r in repeats)
        pairs = sum(kernel[r, s] for r, s in itertools.combinations(chosen, 2))
        terms.append(ways * math.prod(chances[r] for r in chosen) * math.exp(pairs))
    return math.fsum(terms)


def likelihood_ratio(
    patterns: Patterns, matrix: NDArray[np.float64], outputs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """LR at each row of `outputs`, in units of the noise, as `matrix` has to be."""
    x = np.array([counts for _, counts in patterns], dtype=float)
    chances = np.array([chance for chance, _ in patterns])
    means = x @ matrix.T
    exponents = outputs @ means.T - (means**2).sum(axis=1) / 2
    ratio: NDArray[np.float64] = np.exp(exponents) @ chances
    return ratio


def _walk(
    found: dict[tuple[int, ...], float],
    steps: int,
    law: list[float],
    *,
    start: tuple[float, int],
    move: Callable[[int, int], tuple[int, int]],
) -> None:
    """Every sequence of draws from `law`; `move` gives the next state and the participation."""
    reached: dict[Hashable, tuple[float, int, tuple[int, ...]]] = {(): (start[0], start[1], ())}
    for _ in range(steps):
        after: dict[Hashable, tuple[float, int, tuple[int, ...]]] = {}
        for chance, state, counts in reached.values():
            for drawn, probability in enumerate(law):
                if probability > 0:
                    following, joins = move(state, drawn)
                    key = (following, (*counts, joins))
                    before = after[key][0] if key in after else 0.0
                    after[key] = (before + chance * probability, *key)
        reached = after
    for chance, _, counts in reached.values():
        found[counts] = found.get(counts, 0.0) + chance


def _listed(found: dict[tuple[int, ...], float]) -> Patterns:
    return [(chance, counts) for counts, chance in sorted(found.items())]
