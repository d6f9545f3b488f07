"""Choosing the noise by verification, without ever ending up with nothing.

b_min_sep, Algorithm 5: of candidates with decreasing noise the last one is run whose predecessors
were all accepted. The noisiest is a proven mechanism, which needs no test; the walk goes down from
it and stops at the first rejection. More noise keeps every guarantee, so a candidate that is not
private enough is reached only through a wrong acceptance: Theorem A.1 charges one of them. A pilot
with randomness of its own places the candidates; no data is touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.montecarlo.noise_search import noise_near
from hockeystick.montecarlo.trials import Design
from hockeystick.montecarlo.verifier import Claim, Outcome, Verifier

__all__ = ["Candidate", "Draft", "Selection", "draft_candidates", "select_noise"]

# The candidates are looked for around the noise with this part of the allowed delta.
AIM = 0.9
# The budget of draws of the noisier candidate and of the one that is hoped for.
EARLIER_SHARE, LAST_SHARE = 0.15, 0.8
# Candidates lie on a grid of this ratio.
RATIO, FARTHEST = 1.001, 400


class Draft(NamedTuple):
    """Candidates below the proven noise, noisiest first, and the draws they are likely to take."""

    noises: tuple[float, ...]
    costs: tuple[float, ...]


class Candidate(NamedTuple):
    """A noise that was tested, and what came of it."""

    noise_multiplier: float
    outcome: Outcome


@dataclass(frozen=True)
class Selection:
    """The noise to run with, and the candidates on the way to it.

    `proven` is the noise of the fallback, which is the answer if no candidate was accepted.
    """

    noise_multiplier: float
    proven: float
    candidates: tuple[Candidate, ...]

    @property
    def draws(self) -> int:
        """Draws of all tests; pilots not counted."""
        return sum(candidate.outcome.draws for candidate in self.candidates)


def draft_candidates(
    verifier: Verifier, claim: Claim, *, proven: float, draws: float, start: float | None = None
) -> Draft:
    """Place the candidates so that testing them takes about as many draws as given."""
    near = noise_near(
        verifier, claim, aim=AIM * claim.allowed, most=proven, start=start or 0.7 * proven
    )
    if near is None:
        return Draft((), ())
    noise, pilots, power = near

    def cost(factor: float) -> float:
        designs = verifier.designs(claim, pilots, change=factor**power)
        return math.inf if designs is None else sum(design.cost for design in designs)

    grid = [RATIO**i for i in range(-FARTHEST // 4, FARTHEST)]
    last = _first_below(grid, LAST_SHARE * draws, cost)
    if last is None:
        return Draft((), ())
    earlier = _first_below(grid[last + 1 :], EARLIER_SHARE * draws, cost)
    chosen = [last] if earlier is None else [last + 1 + earlier, last]
    noises = [noise * grid[i] for i in chosen]
    below = [i for i, candidate in enumerate(noises) if candidate < proven]
    return Draft(tuple(noises[i] for i in below), tuple(cost(grid[chosen[i]]) for i in below))


def select_noise(verifier: Verifier, claim: Claim, draft: Draft, *, proven: float) -> Selection:
    """Walk down the candidates."""
    accepted = proven
    tried: list[Candidate] = []
    for number, noise in enumerate(draft.noises):
        pilots = verifier.look(claim, noise, stream=(1, number))
        designs = verifier.designs(claim, pilots)
        text = f"Candidate {number + 1} of {len(draft.noises)}, noise {noise:.5g}"
        outcome = _tested(verifier, designs, text, number)
        tried.append(Candidate(noise, outcome))
        if not outcome.accepted:
            break
        accepted = noise
    return Selection(accepted, proven, tuple(tried))


def _tested(verifier: Verifier, designs: list[Design] | None, text: str, number: int) -> Outcome:
    if designs is None:
        return Outcome(False, 0)
    return verifier.test(designs, text=text, stream=(1, number))


def _first_below(grid: list[float], limit: float, cost: Callable[[float], float]) -> int | None:
    """The first entry of the grid that costs at most the limit; costs fall along it."""
    if not grid or cost(grid[-1]) > limit:
        return None
    low, high = -1, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(grid[middle]) <= limit else (middle, high)
    return high
