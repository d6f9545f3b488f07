"""The price of the steps in a ledger, as if their parameters had been fixed beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hockeystick.errors import PrecisionError
from hockeystick.fdp.schedule import (
    MOST_SETTINGS,
    EqualSteps,
    merged,
    profile_of,
    recorded_steps,
)
from hockeystick.ledger.records import EntryRecord
from hockeystick.profile.refinement import BOTH

__all__ = ["Realised", "price"]

ACCURACY = 1e-2
ROUNDED = "parameters rounded on the safe side"


class Realised(NamedTuple):
    """Epsilon of the realised steps; a diagnostic, not a guarantee of adaptive choices."""

    epsilon: float | None
    delta: float
    steps: int
    note: str


def price(entries: Sequence[EntryRecord], *, delta: float) -> Realised:
    """An upper bound on epsilon for these steps, Poisson-sampled Gaussians in any order.

    Valid if their parameters did not depend on outputs. The larger of both directions.
    """
    recorded: list[EqualSteps] = []
    for entry in entries:
        found = recorded_steps(entry.request)
        if found is None:
            note = f"entry {entry.number} has no rate and noise multiplier"
            return Realised(None, delta, len(entries), note)
        recorded.append(found)
    schedule = merged(recorded)
    steps = sum(part.steps for part in schedule)
    profile = profile_of(schedule)
    if profile is None:
        return Realised(0.0, delta, 0, "nothing was spent")
    try:
        epsilon = profile.epsilon_bounds(delta, directions=BOTH, accuracy=ACCURACY).upper
    except PrecisionError as error:
        epsilon = error.upper
    note = ROUNDED if len(schedule) > MOST_SETTINGS else ""
    return Realised(epsilon, delta, steps, note)
