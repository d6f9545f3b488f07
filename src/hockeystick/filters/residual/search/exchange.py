"""Which exchange to try: a part of a menu for steps of another kind.

Nothing here is proof: `WhatMayFollow.allows` has compared what is returned.
"""

from __future__ import annotations

import math

from hockeystick.filters.residual.composition import StepClass, WhatMayFollow
from hockeystick.filters.residual.menus import Payment
from hockeystick.filters.residual.search.evenly import SETTINGS
from hockeystick.profile.expressions import Expression

__all__ = ["copies_for", "exchange_for_less", "exchange_for_mechanism", "exchange_for_more"]

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
    some = _thinned(counts)
    follow = WhatMayFollow(some, slack=slack)
    part = min(part * sum(counts.values()) / sum(some.values()), 1.0)
    given = _part_of(some, part)
    most = math.fsum(one.variance * n for one, n in given.items()) / wanted.variance
    for efficiency in SETTINGS.efficiencies:
        number = math.floor(min(efficiency * most, MOST_STEPS))
        if number < steps:
            break
        if follow.allows(_after(some, given, wanted, number)):
            return given, number
    return None


def copies_for(counts: Payment, wanted: StepClass, steps: int, *, slack: float) -> Payment | None:
    """A few of the strongest steps that dominate the wanted ones together, without the others.

    Two steps dominate one with a little less noise: one of two is sampled twice as often.
    """
    if wanted.noise < SMALLEST_NOISE:
        return None
    able = [one for one, n in reversed(counts.items()) if n and one.rate >= wanted.rate]
    upper = {wanted: steps}
    for copies in SETTINGS.copies:
        given: Payment = {}
        missing = copies * steps
        for one in able:
            here = min(counts[one], missing)
            given[one] = here
            missing -= here
            if not missing:
                break
        if missing:
            return None
        if WhatMayFollow(given, slack=slack).allows(upper):
            return given
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
    strongest = max(one.variance for one, count in counts.items() if count)
    enough = SETTINGS.near * min(strongest, wanted.variance)
    near = {one: n for one, n in counts.items() if n and one.variance >= enough}
    some = {**_thinned(counts), **near}
    follow = WhatMayFollow(some, slack=slack)
    for pool in (near, some):
        total = math.fsum(one.variance * n for one, n in pool.items())
        part = min(wanted.variance * steps / total, 1.0)
        while True:
            given = _part_of(pool, part)
            if follow.allows(_after(some, given, wanted, steps)):
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


def _thinned(counts: Payment) -> Payment:
    """Some of many classes: what stands beside both sides of a comparison may be left out."""
    there = [one for one, n in counts.items() if n]
    stride = math.ceil(len(there) / SETTINGS.compared)
    return {one: counts[one] for one in there[::-1][::stride]}


def _after(counts: Payment, given: Payment, wanted: StepClass, number: int) -> Payment:
    after = {one: n - given.get(one, 0) for one, n in counts.items()}
    after[wanted] = after.get(wanted, 0) + number
    return after
