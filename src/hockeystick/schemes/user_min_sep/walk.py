"""The steps of user-level b-min-sep sampling, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from hockeystick.schemes.base import Indices
from hockeystick.schemes.poisson.scheme import independent_subset
from hockeystick.schemes.user_min_sep.attribution import Attribution

__all__ = ["independent_draws", "user_walk"]


def user_walk(
    attribution: Attribution,
    draws: Iterable[Indices],
    *,
    separation: int,
    draws_block: bool,
    warm_up: int = 0,
    max_participations: int | None = None,
) -> Iterator[Indices]:
    """The batches: of the examples drawn in each step those without a resting user.

    A user rests for the `separation` - 1 steps after one of its examples was drawn, if
    `draws_block` (Algorithm 3), or joined a batch, otherwise (Algorithm 4). Participations of the
    warm-up, whose batches are not handed out, do not count towards `max_participations`.
    The state is one or two integers for each user.
    """
    free_from = np.zeros(attribution.users, dtype=np.int64)
    left = None
    if max_participations is not None:
        left = np.full(attribution.users, max_participations, dtype=np.int64)
    for step, drawn in enumerate(draws):
        users, owner = attribution.edges_of(drawn)
        barred = free_from[users] > step
        if left is not None:
            barred |= left[users] == 0
        joins = np.ones(drawn.size, dtype=np.bool_)
        joins[owner[barred]] = False
        active = users[joins[owner]]
        free_from[users if draws_block else active] = step + separation
        if step >= warm_up:
            if left is not None:
                left[active] -= 1  # once for a user, however many of its examples join
            yield drawn[joins]


def independent_draws(
    examples: int, *, rate: float, rounds: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """In each round every example with probability `rate`."""
    return (independent_subset(examples, rate=rate, rng=rng) for _ in range(rounds))
