"""Which exchange to try: a part of a menu for steps of another kind.

Nothing here is proof: `WhatMayFollow.allows` has compared what is returned.
"""

from __future__ import annotations

import math

from hockeystick.filters.residual.composition import StepClass, WhatMayFollow
from hockeystick.filters.residual.menus import Payment
from hockeystick.filters.residual.search.settings import SETTINGS
from hockeystick.profile.expressions.base import Expression

__all__ = ["exchange_for_less", "exchange_for_mechanism", "exchange_for_more"]

# Steps with less noise are not compared: their losses are beyond any grid.
SMALLEST_NOISE = 1e-2
# No exchange is for more steps than this.
MOST_STEPS = 10**9
# Bisections for the part that pays for a mechanism.
TRIES = 10


def exchange_for_less(
    counts: Payment, wanted: StepClass, steps: int, *, slack: float, part: float
) -> tuple[Payment, int] | None:
    """What is given for steps that cost less than those that there are, and how many they are.

    About the given part of everything, for as much as it is found to be worth.
    """
    if not any(counts.values()):
        return None
    follow = WhatMayFollow(counts, slack=slack)
    given = _part_of(counts, part)
    most = math.fsum(one.variance * n for one, n in given.items()) / wanted.variance
    for efficiency in SETTINGS.efficiencies:
        number = math.floor(min(efficiency * most, MOST_STEPS))
        if number < steps:
            break
        if follow.allows(_after(counts, given, wanted, number)):
            return given, number
    return None


def exchange_for_more(
    counts: Payment, wanted: StepClass, steps: int, *, slack: float, most: float = math.inf
) -> tuple[Payment, int] | None:
    """What is given for so many steps that none of those there are dominates.

    The fewest steps that come near them, found by trying more and more; or a part of everything.
    None if that would be more than `most` times the variance of what is wanted.
    """
    if wanted.noise < SMALLEST_NOISE or not any(counts.values()):
        return None
    follow = WhatMayFollow(counts, slack=slack)
    strongest = max(one.variance for one, count in counts.items() if count)
    near = {
        one: n
        for one, n in counts.items()
        if one.variance >= SETTINGS.near * min(strongest, wanted.variance)
    }
    for pool in (near, counts):
        total = math.fsum(one.variance * n for one, n in pool.items())
        part = min(wanted.variance * steps / total, 1.0)
        while True:
            given = _part_of(pool, part)
            if follow.allows(_after(counts, given, wanted, steps)):
                return given, steps
            if part >= 1 or part * total > most * wanted.variance * steps:
                break
            part = min(SETTINGS.part_step * part, 1.0)
    return None


def exchange_for_mechanism(
    counts: Payment, mechanism: Expression, steps: int, *, slack: float
) -> Payment | None:
    """A small part of a menu that pays for runs of a mechanism; None if all of it is not enough."""
    if not any(counts.values()):
        return None
    follow = WhatMayFollow(counts, slack=slack)
    low, high, best = 0.0, 1.0, None
    for _ in range(TRIES + 1):
        given = _part_of(counts, high if best is None else (low + high) / 2)
        after = {one: n - given.get(one, 0) for one, n in counts.items()}
        if follow.allows(after, [(mechanism, steps)]):
            high = high if best is None else (low + high) / 2
            best = given
        elif best is None:
            return None
        else:
            low = (low + high) / 2
    return best


def _part_of(pool: Payment, part: float) -> Payment:
    """About this share of every class, and of all of them together; at least one step.

    Parts of steps are carried over from one class to the next.
    """
    given: Payment = {}
    seen, taken = 0.0, 0
    for one in sorted(pool, key=lambda one: -one.variance):
        seen += pool[one] * part
        here = min(math.floor(seen + 1e-9) - taken, pool[one])
        taken += here
        if here:
            given[one] = here
    if not given:
        strongest = max((one for one, n in pool.items() if n), key=lambda one: one.variance)
        return {strongest: 1}
    return given


def _after(counts: Payment, given: Payment, wanted: StepClass, number: int) -> Payment:
    after = {one: n - given.get(one, 0) for one, n in counts.items()}
    after[wanted] = after.get(wanted, 0) + number
    return after
