"""Where the candidates of a verified calibration are placed. A poor choice costs noise or draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.montecarlo.pilot import NoiseEstimate
from hockeystick.montecarlo.verifier import Claim, Verifier

__all__ = ["CANDIDATES", "DEFAULT_DRAWS", "Candidates", "place_candidates", "tuple_draws"]

# Times 1/delta: some minutes for thousands of steps at delta = 1e-5. Draws of tuples of replicas,
# at any delta: half a per cent of noise or less, some seconds for thousands of steps. The need for
# them grows with the bound on a payoff over delta; so many times as many from this ratio on.
DEFAULT_DRAWS, TUPLE_DRAWS = 100, 100_000
TUPLE_RATIO, MOST_TIMES = 30.0, 20.0


@dataclass(frozen=True)
class CandidateSettings:
    """Where candidates are placed. A poor choice costs noise or draws, never validity."""

    # Pilots search the noise with this part of the allowed delta, from this part of the proven
    # noise on; candidates are placed around it.
    aim: float = 0.9
    start: float = 0.7
    # Shares of the draws for an earlier, noisier candidate and for the last one.
    earlier_share: float = 0.15
    last_share: float = 0.8
    # Candidates lie on a grid of this ratio, finer than the 1 % of noise that verification costs,
    # from `below` steps under the noise of the pilots to `above` steps over it.
    ratio: float = 1.001
    below: int = 100
    above: int = 400


CANDIDATES = CandidateSettings()


def tuple_draws(near: NoiseEstimate) -> int:
    """More where payoffs may be far above delta."""
    ratios = [
        one.log_largest - math.log(one.mean) for pilot in near.pilots for one in pilot.statistics
    ]
    times = math.exp(min(max(ratios, default=0.0), 50.0)) / TUPLE_RATIO
    return math.ceil(TUPLE_DRAWS * min(max(times, 1.0), MOST_TIMES))


class Candidates(NamedTuple):
    """Noises below the proven one, largest first, and the draws they are likely to take."""

    noises: tuple[float, ...]
    costs: tuple[float, ...]


def place_candidates(
    verifier: Verifier, claim: Claim, near: NoiseEstimate | None, *, proven: float, draws: float
) -> Candidates:
    """Place the candidates so that testing them takes about as many draws as given."""
    if near is None:
        return Candidates((), ())
    noise, pilots, power = near

    def cost(factor: float) -> float:
        designs = verifier.designs(claim, pilots, change=factor**power)
        return math.inf if designs is None else sum(design.cost for design in designs)

    grid = [CANDIDATES.ratio**i for i in range(-CANDIDATES.below, CANDIDATES.above)]
    last = _first_below(grid, CANDIDATES.last_share * draws, cost)
    if last is None:
        return Candidates((), ())
    earlier = _first_below(grid[last + 1 :], CANDIDATES.earlier_share * draws, cost)
    chosen = [last] if earlier is None else [last + 1 + earlier, last]
    noises = [noise * grid[i] for i in chosen]
    below = [i for i, candidate in enumerate(noises) if candidate < proven]
    return Candidates(tuple(noises[i] for i in below), tuple(cost(grid[chosen[i]]) for i in below))


def _first_below(grid: list[float], limit: float, cost: Callable[[float], float]) -> int | None:
    """The first entry of the grid that costs at most the limit; costs fall along it."""
    if not grid or cost(grid[-1]) > limit:
        return None
    low, high = -1, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(grid[middle]) <= limit else (middle, high)
    return high
