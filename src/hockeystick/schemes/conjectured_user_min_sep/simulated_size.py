"""The batch size of participation-based blocking on a graph, by simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hockeystick.randomness import generator
from hockeystick.schemes.base import Indices
from hockeystick.schemes.poisson.scheme import independent_subset
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.walk import user_walk

__all__ = ["simulated_rate", "simulated_size"]

SEED = 0
DRAWS = 100_000
"""Examples that a simulation draws: a relative standard error of about a third of a percent."""
MOST_ROUNDS = 4_000
ACCURACY = 1e-3
"""Relative accuracy of the rate, below the error of the simulation."""


def simulated_size(
    attribution: Attribution, *, rate: float, separation: int, ceiling: float | None = None
) -> float:
    """The mean batch size in the long run, with a fixed seed.

    Coins are drawn for the rate `ceiling` and thinned, so that rates under one ceiling share them.
    """
    ceiling = rate if ceiling is None else ceiling
    wanted = min(DRAWS / (ceiling * attribution.examples), MOST_ROUNDS)
    rounds = separation * math.ceil(wanted / separation)  # whole periods
    warm_up = 2 * separation
    draws = _thinned_draws(
        attribution.examples, rounds=warm_up + rounds, ceiling=ceiling, share=rate / ceiling
    )
    batches = user_walk(
        attribution, draws, separation=separation, draws_block=False, warm_up=warm_up
    )
    return sum(batch.size for batch in batches) / rounds


def simulated_rate(attribution: Attribution, *, batch_size: float, separation: int) -> float:
    """A rate with this simulated batch size, which must be at most examples / separation.

    The rate is doubled until the batch is large enough, and then bisected with common coins.
    """
    upper = batch_size / attribution.examples
    while upper < 1 and _falls_short(attribution, upper, upper, batch_size, separation):
        upper = min(2 * upper, 1.0)
    lower = max(batch_size / attribution.examples, upper / 2)
    ceiling = upper
    while upper > lower * (1 + ACCURACY):
        middle = math.sqrt(lower * upper)
        if _falls_short(attribution, middle, ceiling, batch_size, separation):
            lower = middle
        else:
            upper = middle
    return upper


def _falls_short(
    attribution: Attribution, rate: float, ceiling: float, batch_size: float, separation: int
) -> bool:
    size = simulated_size(attribution, rate=rate, separation=separation, ceiling=ceiling)
    return size < batch_size


def _thinned_draws(
    examples: int, *, rounds: int, ceiling: float, share: float
) -> Iterator[Indices]:
    """Draws at the rate ceiling * share, whose coins depend on the ceiling alone."""
    rng = generator(SEED)
    for _ in range(rounds):
        drawn = independent_subset(examples, rate=ceiling, rng=rng)
        yield drawn[rng.random(drawn.size) < share]
