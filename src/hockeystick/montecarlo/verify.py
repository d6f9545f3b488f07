"""`verify`: a claim is fixed first and tested by simulation; its failure is inside delta."""

from __future__ import annotations

from typing import Any

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter, UnsupportedPlan, VerificationFailed
from hockeystick.guarantee import Analysis, Guarantee, directions_for
from hockeystick.montecarlo.claimed import ClaimedPoint
from hockeystick.montecarlo.drafts import DrawPlan, draw_plan
from hockeystick.montecarlo.execution import Execution
from hockeystick.montecarlo.session import check_simulated, open_drawer
from hockeystick.montecarlo.settings import MonteCarlo
from hockeystick.montecarlo.verifier import Claim, Outcome, Verifier
from hockeystick.plan import Plan, require_plan
from hockeystick.schemes.simulation import simulation_remark

__all__ = ["checked_claim", "draws_to_verify", "verified_guarantee", "verify"]


def verify(
    plan: Plan,
    *,
    noise_multiplier: float,
    epsilon: float,
    delta: float,
    direction: str = "both",
    draws: int | None = None,
    seed: int | None = None,
    execution: Execution | None = None,
) -> Guarantee:
    """Test the claim that the plan is (epsilon, delta)-DP; a Guarantee of kind "verified".

    b_min_sep, Appendix A, with its errata: the verifier accepts a mechanism that is not
    (epsilon, d)-DP with probability at most q, where d + q (1 - d) = delta; running the plan only
    after acceptance is then (epsilon, delta)-DP. `VerificationFailed` if the claim is not accepted.
    Each further attempt, with the same noise or more, may accept a false claim with probability q =
    delta/100 again, which the delta of a single guarantee does not cover; `calibrate` with the
    method "monte-carlo" tries several noises at the price of one.

    A pilot with randomness of its own chooses how to draw and places the thresholds. `draws` limits
    how many may be made: if the pilot finds that more are needed, `InvalidParameter` says how many.
    `seed` makes the draws reproducible; `execution` says who makes them. Cost: about
    log(1/q) * M / delta draws of O(steps * bands) for a bound M <= 1 on what a single draw may
    count, more as the true delta comes closer to the claimed one. `draws_to_verify` answers first.
    """
    claim = checked_claim(plan, epsilon=epsilon, delta=delta, direction=direction)
    noise = check.positive("noise_multiplier", noise_multiplier)
    limit = None if draws is None else check.positive_integer("draws", draws)
    with open_drawer(
        plan, execution=execution, seed=seed, verify=(noise, epsilon, delta, direction)
    ) as drawer:
        verifier = Verifier(drawer, drawer.checkpoint.seed)
        pilots = verifier.look(claim, noise, stream=(2,))
        designs = verifier.designs(claim, pilots)
        if designs is None:
            seen = max(pilot.mean for pilot in pilots)
            raise VerificationFailed(
                f"The claim (epsilon={epsilon:g}, delta={delta:g}) is not accepted at noise "
                f"multiplier {noise:g}: the pilot estimates delta at {seen:.3g}."
            )
        needed = sum(design.draws for design in designs)
        if limit is not None and needed > limit:
            raise InvalidParameter("draws", f">= {needed:,} for this claim, or None", draws)
        outcome = verifier.test(designs, text="Verifying", stream=(2,))
    if not outcome.accepted:
        raise VerificationFailed(
            f"The claim (epsilon={epsilon:g}, delta={delta:g}) is not accepted at noise "
            f"multiplier {noise:g} after {outcome.draws:,} draws."
        )
    return verified_guarantee(claim, noise, _details(claim, outcome))


def draws_to_verify(
    plan: Plan,
    *,
    noise_multiplier: float,
    epsilon: float,
    delta: float,
    direction: str = "both",
    seed: int | None = None,
    execution: Execution | None = None,
) -> DrawPlan:
    """What `verify` would draw with the same arguments; only the pilot is run."""
    claim = checked_claim(plan, epsilon=epsilon, delta=delta, direction=direction)
    noise = check.positive("noise_multiplier", noise_multiplier)
    with open_drawer(
        plan, execution=execution, seed=seed, verify=(noise, epsilon, delta, direction)
    ) as drawer:
        return draw_plan(Verifier(drawer, drawer.checkpoint.seed), claim, noise, stream=(2,))


def verified_guarantee(claim: Claim, noise: float, details: dict[str, object]) -> Guarantee:
    """The guarantee of an accepted claim, with what it implies at other epsilons and deltas."""
    plan = claim.plan
    remark = simulation_remark(plan)
    if remark is not None:
        details = {**details, "note": remark}
    analysis = Analysis(
        MonteCarlo.name,
        "conjectured" if plan.sampling.conjectured else "verified",
        ClaimedPoint(claim.epsilon, claim.delta, claim.directions, details),
    )
    return Guarantee(
        analyses=(analysis,),
        directions=claim.directions,
        unit=plan.sampling.unit,
        plans=({**plan.describe(), "noise_multiplier": noise},),
    )


def _details(claim: Claim, outcome: Outcome) -> dict[str, object]:
    return {"draws": outcome.draws, "false_acceptance": claim.miss}


def checked_claim(plan: Any, *, epsilon: Any, delta: Any, direction: str) -> Claim:
    """A claim about a plan that can be simulated at all."""
    require_plan(plan)
    if plan.mechanism is not None:
        raise UnsupportedPlan("Only the Gaussian mechanism is simulated; leave mechanism=None.")
    check_simulated(plan)
    return Claim(
        plan,
        check.at_least("epsilon", epsilon, 0.0),
        check.small_probability("delta", delta),
        directions_for(direction),
    )
