"""The noise for a wanted guarantee, by verification, without ever ending up with nothing.

[DongGanesh26, Algorithm 5]: of candidates with decreasing noise the last one is run whose
predecessors were all accepted. The noisiest is a proven mechanism, which needs no test; the others
are tested in turn up to the first rejection. Where tuples of replicas are drawn the proven noise is
that at which their bound is small enough. More noise keeps every guarantee, so a candidate that
is not private enough is reached only through a wrong acceptance, and Theorem A.1 charges one of
them. A pilot with randomness of its own places the candidates; no data is touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo import MonteCarlo
from hockeystick.montecarlo.drawing import Drawer, open_drawer
from hockeystick.montecarlo.noise_by_tuples import (
    most_noise,
    noise_by_tuples,
    offers_tuples,
    proven_by_bounds,
    sensitivity_of,
)
from hockeystick.montecarlo.noise_estimate import (
    CANDIDATES,
    DEFAULT_DRAWS,
    Candidates,
    place_candidates,
    tuple_draws,
)
from hockeystick.montecarlo.pilot import NoiseEstimate, Pilot, noise_by_pilots
from hockeystick.montecarlo.trials import Design
from hockeystick.montecarlo.verifier import Claim, DrawPlan, Outcome, Verifier
from hockeystick.montecarlo.verify import checked_claim, verified_guarantee
from hockeystick.plan import Plan

__all__ = ["VerifiedNoise", "planned_tests", "verified_noise"]


@dataclass(frozen=True)
class VerifiedNoise:
    """The noise that was selected, its guarantee, and how many candidates were tested."""

    noise_multiplier: float
    guarantee: Guarantee
    tested: int


def verified_noise(
    plan: Plan,
    *,
    epsilon: float,
    delta: float,
    direction: str,
    proven: Callable[[float], float],
    settings: MonteCarlo,
    start: float | None = None,
) -> VerifiedNoise:
    """The smallest noise that was accepted; `proven(delta)` is one that needs no test.

    Whatever the draws say, the procedure that tests and then runs the plan with the noise that
    comes out is (epsilon, delta)-DP: it runs a noise that is too small with probability at most q,
    which is a part of delta.
    """
    claim = checked_claim(
        plan, epsilon=epsilon, delta=delta, direction=direction, choices=settings.choices
    )
    with _opened(claim, settings) as drawer:
        verifier = Verifier(drawer)
        found = _candidates(verifier, claim, proven, settings, start)
        chosen = select_noise(
            verifier, claim, found.candidates, pilots_at=found.pilots_at, proven=found.proven
        )
        if chosen.noise_multiplier == found.proven and found.by_bounds:
            # Another proven analysis may need less.
            least = min(found.proven, proven(claim.allowed))
            chosen = replace(chosen, noise_multiplier=least, proven=least)
    guarantee = verified_guarantee(claim, chosen.noise_multiplier, _details(claim, chosen))
    return VerifiedNoise(chosen.noise_multiplier, guarantee, len(chosen.candidates))


def planned_tests(
    plan: Plan,
    *,
    epsilon: float,
    delta: float,
    direction: str = "both",
    proven: Callable[[float], float],
    settings: MonteCarlo,
    start: float | None = None,
) -> list[DrawPlan]:
    """What `verified_noise` would test with the same arguments, noisiest first; pilots only."""
    claim = checked_claim(
        plan, epsilon=epsilon, delta=delta, direction=direction, choices=settings.choices
    )
    with _opened(claim, settings) as drawer:
        verifier = Verifier(drawer)
        found = _candidates(verifier, claim, proven, settings, start)
        return [
            verifier.draw_plan(claim, noise, stream=(1, number))
            for number, noise in enumerate(found.candidates.noises)
        ]


def _opened(claim: Claim, settings: MonteCarlo) -> AbstractContextManager[Drawer]:
    question: tuple[object, ...] = (
        claim.epsilon,
        claim.delta,
        claim.directions,
        settings.draws,
        *([] if claim.choices == 1 else [claim.choices]),
    )
    return open_drawer(
        claim.plan, execution=settings.execution, seed=settings.seed, calibrate=question
    )


PilotsAt = Callable[[float, int], list[Pilot]]
"""The pilots of a candidate, given its noise and its number."""


class _Found(NamedTuple):
    """Candidates, their pilots, a noise that needs no test, whether by the bound of replicas."""

    candidates: Candidates
    pilots_at: PilotsAt
    proven: float
    by_bounds: bool


def _candidates(
    verifier: Verifier,
    claim: Claim,
    proven: Callable[[float], float],
    settings: MonteCarlo,
    start: float | None,
) -> _Found:
    """By tuples of replicas where they are offered; otherwise below the proven noise."""
    aim = CANDIDATES.aim * claim.allowed
    first = start or sensitivity_of(claim.plan) / claim.epsilon**0.5
    if offers_tuples(claim, first):
        most = most_noise(claim)
        found = noise_by_tuples(verifier, claim, aim=aim, start=first, most=most)
        if found is not None:
            noise, curves = found

            def known(noise: float, _number: int) -> list[Pilot]:
                return [curve.pilot(noise) for curve in curves]

            near_order = max(curve.replicas.order for curve in curves)
            safe = proven_by_bounds(claim, start=noise, most=most, near=near_order)
            power = max(curve.power for curve in curves if curve.draws > 0)
            near = NoiseEstimate(noise, known(noise, 0), power)
            draws = settings.draws or tuple_draws(near)
            placed = place_candidates(verifier, claim, near, proven=safe, draws=draws)
            return _Found(placed, known, safe, True)
    safe = proven(claim.allowed)
    by_pilots = noise_by_pilots(
        lambda noise, number: verifier.pilots(claim, noise, stream=(0, number)),
        aim=aim,
        most=safe,
        start=start or CANDIDATES.start * safe,
    )
    draws = settings.draws or math.ceil(DEFAULT_DRAWS / claim.delta)
    placed = place_candidates(verifier, claim, by_pilots, proven=safe, draws=draws)

    def fresh(noise: float, number: int) -> list[Pilot]:
        return verifier.pilots(claim, noise, stream=(1, number))

    return _Found(placed, fresh, safe, False)


def _details(claim: Claim, chosen: Selection) -> dict[str, object]:
    return {
        "draws": chosen.draws,
        "false_acceptance": claim.false_acceptance,
        "candidates": len(chosen.candidates),
        **({} if claim.choices == 1 else {"choices": claim.choices}),
        "fallback": chosen.proven,
        "accepted": chosen.noise_multiplier < chosen.proven,
        **chosen.details,
    }


class Tested(NamedTuple):
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
    candidates: tuple[Tested, ...]

    @property
    def draws(self) -> int:
        """Draws of all tests; pilots not counted."""
        return sum(candidate.outcome.draws for candidate in self.candidates)

    @property
    def details(self) -> dict[str, object]:
        """Of the last candidate that was accepted."""
        accepted = [one.outcome.details for one in self.candidates if one.outcome.accepted]
        return accepted[-1] if accepted else {}


def select_noise(
    verifier: Verifier,
    claim: Claim,
    candidates: Candidates,
    *,
    pilots_at: PilotsAt,
    proven: float,
) -> Selection:
    """Test the candidates in turn, up to the first rejection."""
    accepted = proven
    tried: list[Tested] = []
    for number, noise in enumerate(candidates.noises):
        designs = verifier.designs(claim, pilots_at(noise, number))
        text = f"Candidate {number + 1} of {len(candidates.noises)}, noise {noise:.5g}"
        outcome = _tested(verifier, designs, text, number)
        tried.append(Tested(noise, outcome))
        if not outcome.accepted:
            break
        accepted = noise
    return Selection(accepted, proven, tuple(tried))


def _tested(verifier: Verifier, designs: list[Design] | None, text: str, number: int) -> Outcome:
    if designs is None:
        return Outcome(False, 0)
    return verifier.test(designs, text=text, stream=(1, number))
