"""The noise for a wanted guarantee, by verification: Algorithm 5 of b_min_sep."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo.drafts import DrawPlan, draw_plan
from hockeystick.montecarlo.selection import Selection, draft_candidates, select_noise
from hockeystick.montecarlo.session import open_drawer
from hockeystick.montecarlo.settings import MonteCarlo
from hockeystick.montecarlo.verifier import Claim, Verifier
from hockeystick.montecarlo.verify import checked_claim, verified_guarantee
from hockeystick.plan import Plan

__all__ = ["DEFAULT_DRAWS", "VerifiedNoise", "draft_noise", "verified_noise"]

# Times 1/delta: some minutes for thousands of steps at delta = 1e-5.
DEFAULT_DRAWS = 100


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
    for which delta pays.
    """
    claim = checked_claim(plan, epsilon=epsilon, delta=delta, direction=direction)
    fallback, budget = proven(claim.allowed), _budget(settings, claim)
    question = (epsilon, delta, direction, budget)
    with open_drawer(
        plan, execution=settings.execution, seed=settings.seed, calibrate=question
    ) as drawer:
        verifier = Verifier(drawer, drawer.checkpoint.seed)
        draft = draft_candidates(verifier, claim, proven=fallback, draws=budget, start=start)
        chosen = select_noise(verifier, claim, draft, proven=fallback)
    guarantee = verified_guarantee(claim, chosen.noise_multiplier, _details(claim, chosen))
    return VerifiedNoise(chosen.noise_multiplier, guarantee, len(chosen.candidates))


def draft_noise(
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
    claim = checked_claim(plan, epsilon=epsilon, delta=delta, direction=direction)
    fallback, budget = proven(claim.allowed), _budget(settings, claim)
    question = (epsilon, delta, direction, budget)
    with open_drawer(
        plan, execution=settings.execution, seed=settings.seed, calibrate=question
    ) as drawer:
        verifier = Verifier(drawer, drawer.checkpoint.seed)
        draft = draft_candidates(verifier, claim, proven=fallback, draws=budget, start=start)
        return [
            draw_plan(verifier, claim, noise, stream=(1, number))
            for number, noise in enumerate(draft.noises)
        ]


def _budget(settings: MonteCarlo, claim: Claim) -> int:
    return settings.draws or math.ceil(DEFAULT_DRAWS / claim.delta)


def _details(claim: Claim, chosen: Selection) -> dict[str, object]:
    return {
        "draws": chosen.draws,
        "false_acceptance": claim.miss,
        "candidates": len(chosen.candidates),
        "fallback": chosen.proven,
        "accepted": chosen.noise_multiplier < chosen.proven,
    }
