"""The price of the steps in a ledger, as if their parameters had been fixed beforehand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import reduce
from typing import NamedTuple

from hockeystick.errors import PrecisionError
from hockeystick.evaluation import BOTH
from hockeystick.ledger.records import EntryRecord
from hockeystick.profile import Profile

__all__ = ["Realised", "price"]

# More different steps than this are merged, by rounding to fewer digits on the safe side.
MOST_DIFFERENT_STEPS = 32
DIGITS = (4, 3, 2, 1)
ACCURACY = 1e-2
# Covers the roundings of a product and a quotient.
ROUNDED_DOWN = 1 - 2.0**-50

Step = tuple[float, float]  # rate, noise multiplier over the largest contribution


class Realised(NamedTuple):
    """Epsilon of the realised steps; a diagnostic, not a guarantee of adaptive choices."""

    epsilon: float | None
    delta: float
    steps: int
    note: str


def price(entries: Sequence[EntryRecord], *, delta: float) -> Realised:
    """An upper bound on epsilon for these steps, Poisson-sampled Gaussians in any order.

    Each entry has a rate, a noise multiplier s, perhaps a clip scale c, a sensitivity a and a
    number of steps; its pair is the Gaussian of noise s/(ac) subsampled at the rate. Valid if these
    numbers did not depend on outputs. The larger of both directions; where many different steps are
    merged by rounding, it errs upwards. Cost: grows with the number of different steps, of which at
    most 32 are composed.
    """
    counts: Counter[Step] = Counter()
    for entry in entries:
        step, count = _step(entry.request), entry.request.get("steps", 1)
        if step is None or not isinstance(count, int) or count < 1:
            note = f"entry {entry.number} has no rate and noise multiplier"
            return Realised(None, delta, len(entries), note)
        counts[step] += count
    if not counts:
        return Realised(0.0, delta, 0, "nothing was spent")
    merged, note = _few(counts)
    if not merged:
        return Realised(None, delta, counts.total(), note)
    parts = [
        Profile.gaussian(noise_multiplier=noise).subsample(rate).self_compose(count)
        for (rate, noise), count in merged.items()
    ]
    whole = reduce(Profile.compose, parts)
    try:
        epsilon = whole.epsilon_bounds(delta, directions=BOTH, accuracy=ACCURACY).upper
    except PrecisionError as error:
        epsilon = error.upper
    return Realised(epsilon, delta, counts.total(), note)


def _step(request: Mapping[str, object]) -> Step | None:
    rate, noise = _number(request, "rate"), _number(request, "noise_multiplier")
    complete = {"clip_scale": 1.0, "sensitivity": 1.0, **request}
    reach = _number(complete, "clip_scale") * _number(complete, "sensitivity")
    if not (0 < rate <= 1 and 0 < noise < math.inf and 0 < reach < math.inf):
        return None
    return rate, noise if reach == 1 else noise / reach * ROUNDED_DOWN


def _number(request: Mapping[str, object], name: str) -> float:
    value = request.get(name)
    return value if isinstance(value, (int, float)) else math.nan


def _few(counts: Counter[Step]) -> tuple[Counter[Step], str]:
    """Few enough steps to compose, with a word about what was done; none if it cannot be done."""
    if len(counts) <= MOST_DIFFERENT_STEPS:
        return counts, ""
    for digits in DIGITS:
        merged: Counter[Step] = Counter()
        for (rate, noise), count in counts.items():
            # More sampling and less noise: every step gets more expensive.
            step = _rounded(rate, digits, ROUND_CEILING), _rounded(noise, digits, ROUND_FLOOR)
            merged[step] += count
        if len(merged) <= MOST_DIFFERENT_STEPS:
            return merged, f"parameters rounded to {digits} digits on the safe side"
    return Counter(), f"there are {len(counts)} different steps, too many to compose"


def _rounded(value: float, digits: int, direction: str) -> float:
    return float(Context(prec=digits, rounding=direction).create_decimal_from_float(value))
