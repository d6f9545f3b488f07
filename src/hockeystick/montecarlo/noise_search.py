"""The noise at which pilots see a wanted delta."""

from __future__ import annotations

import math
from typing import NamedTuple

from hockeystick.montecarlo.pilot import Pilot
from hockeystick.montecarlo.verifier import Claim, Verifier

__all__ = ["Near", "noise_near"]

# How close is close enough, as a factor e^CLOSE of delta; how many looks, how far between two.
CLOSE, MOST_LOOKS, FARTHEST, SECOND_STEP = 0.15, 30, 0.4, 0.01
# Without better knowledge delta falls with this power of the noise.
POWER, FLATTEST, STEEPEST = -15.0, -3.0, -400.0


class Near(NamedTuple):
    """A noise, what the pilots saw there, and with which power of the noise delta falls."""

    noise: float
    pilots: list[Pilot]
    power: float

    @property
    def delta(self) -> float:
        """What was seen in the worst direction."""
        return max(pilot.mean for pilot in self.pilots)


def noise_near(
    verifier: Verifier,
    claim: Claim,
    *,
    aim: float,
    most: float,
    start: float,
    close: float = CLOSE,
) -> Near | None:
    """By a secant search on log delta against log noise; None if `most` is not enough."""
    noise = min(start, most)
    power, before = POWER, None
    for number in range(MOST_LOOKS):
        pilots = verifier.look(claim, noise, stream=(0, number))
        near = Near(noise, pilots, power)
        seen = math.log(near.delta) if near.delta > 0 else -math.inf
        if before is not None and math.isfinite(seen) and noise != before[0]:
            slope = (seen - before[1]) / math.log(noise / before[0])
            power = min(max(slope, STEEPEST), FLATTEST)
        if abs(seen - math.log(aim)) <= close and before is not None:
            return near._replace(power=power)
        if noise >= most and seen > math.log(aim):
            return None
        distance = math.log(aim) - seen
        # A first look that is close already needs a second one near it, for the power.
        step = distance / power if abs(distance) > close else SECOND_STEP
        before = (noise, seen) if math.isfinite(seen) else before
        noise = min(noise * math.exp(min(max(step, -FARTHEST), FARTHEST)), most)
    return None
