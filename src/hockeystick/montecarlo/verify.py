"""`verify`: a claim that is fixed beforehand is tested by draws; its failure is inside delta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter, UnsupportedPlan, VerificationFailed
from hockeystick.guarantee import Analysis, Guarantee, directions_for
from hockeystick.montecarlo import Execution, MonteCarlo
from hockeystick.montecarlo.drawing import check_simulated, open_drawer
from hockeystick.montecarlo.points import ClaimedPoint
from hockeystick.montecarlo.verifier import Claim, DrawPlan, Verifier
from hockeystick.plan import Plan, require_plan
from hockeystick.schemes.simulation import simulation_remark

__all__ = ["checked_claim", "draws_to_verify", "verified_guarantee", "verify"]


@check.known_names_only
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
    """Test the claim that the plan is (epsilon, delta)-DP, before it is run.

    The verifier accepts a mechanism that is not (epsilon, d)-DP with probability at most q, where
    d + q (1 - d) = delta. Running the plan only after acceptance is then (epsilon, delta)-DP
    [DongGanesh26, Theorem A.1]. A pilot with randomness of its own chooses how to draw and places
    the thresholds.

    One attempt: each further one, with the same noise or more, may accept a false claim with
    probability q = delta/100 again, which the delta of a single guarantee does not cover.
    `calibrate` with `MonteCarlo` tests several noises at the cost of one.

    About log(1/q) * M / delta draws of O(steps * bands) each, for a bound M <= 1 on what a single
    draw may count, and more as the true delta comes closer to the claimed one. For b-min-sep,
    Poisson sampling and balls-in-bins draws are tuples of replicas, M is 5 to 50 times delta, and
    some ten thousand draws do at any delta. `draws_to_verify` says beforehand how many.

    Parameters
    ----------
    plan
        The run, with Gaussian noise.
    noise_multiplier
        The standard deviation of the noise over the clip norm.
    epsilon, delta
        The claim.
    direction
        "both", or "add" or "remove" for one direction alone.
    draws
        The most draws that may be made; by default as many as are needed.
    seed
        An integer that makes the draws reproducible. By default it comes from the operating
        system.
    execution
        Where the draws are made (`Execution`).

    Returns
    -------
    Guarantee
        Of kind "verified".

    Raises
    ------
    VerificationFailed
        If the claim is not accepted.
    InvalidParameter
        If more than `draws` are needed; the message says how many.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> found = hs.verify(plan, noise_multiplier=2.0, epsilon=1.0, delta=0.01, seed=1)
    >>> found.kind, found.epsilon(delta=0.01)
    ('verified', 1.0)
    """
    claim = checked_claim(plan, epsilon=epsilon, delta=delta, direction=direction)
    noise = check.positive("noise_multiplier", noise_multiplier)
    limit = None if draws is None else check.positive_integer("draws", draws)
    with open_drawer(
        plan, execution=execution, seed=seed, verify=(noise, epsilon, delta, direction)
    ) as drawer:
        verifier = Verifier(drawer)
        pilots = verifier.pilots(claim, noise, stream=(2,))
        designs = verifier.designs(claim, pilots)
        if designs is None:
            estimate = max(pilot.mean for pilot in pilots)
            raise VerificationFailed(
                f"The claim (epsilon={epsilon:g}, delta={delta:g}) is not accepted at noise "
                f"multiplier {noise:g}: the pilot estimates delta at {estimate:.3g}; more noise or "
                "a larger epsilon may be, and calibrate(method='monte-carlo') finds the noise.",
                page="docs/guarantees.md#verified-exactly",
            )
        needed = sum(design.draws for design in designs)
        if limit is not None and needed > limit:
            raise InvalidParameter("draws", f">= {needed:,} for this claim, or None", draws)
        outcome = verifier.test(designs, text="Verifying", stream=(2,))
    if not outcome.accepted:
        raise VerificationFailed(
            f"The claim (epsilon={epsilon:g}, delta={delta:g}) is not accepted at noise "
            f"multiplier {noise:g} after {outcome.draws:,} draws; more noise or a larger epsilon "
            "may be, and calibrate(method='monte-carlo') finds the noise.",
            page="docs/guarantees.md#verified-exactly",
        )
    details = {
        "draws": outcome.draws,
        "false_acceptance": claim.false_acceptance,
        **outcome.details,
    }
    return verified_guarantee(claim, noise, details)


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
    """What `verify` would draw with the same arguments; only the pilots are run.

    Parameters
    ----------
    plan, noise_multiplier, epsilon, delta, direction, seed, execution
        As for `verify`.

    Returns
    -------
    DrawPlan
        The trials, how many draws they make, and about how long they take.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> hs.draws_to_verify(plan, noise_multiplier=0.2, epsilon=1.0, delta=0.01, seed=1).feasible
    False
    """
    claim = checked_claim(plan, epsilon=epsilon, delta=delta, direction=direction)
    noise = check.positive("noise_multiplier", noise_multiplier)
    with open_drawer(
        plan, execution=execution, seed=seed, verify=(noise, epsilon, delta, direction)
    ) as drawer:
        return Verifier(drawer).draw_plan(claim, noise, stream=(2,))


def verified_guarantee(claim: Claim, noise: float, details: Mapping[str, object]) -> Guarantee:
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


def checked_claim(
    plan: Any, *, epsilon: Any, delta: Any, direction: str, choices: int = 1
) -> Claim:
    """A claim about a plan that can be simulated at all."""
    require_plan(plan)
    if plan.mechanism is not None:
        raise UnsupportedPlan(
            "Only the Gaussian mechanism is simulated; leave mechanism=None, or account for the "
            "plan with account(plan).",
            page="docs/how-to-choose.md#draws",
        )
    check_simulated(plan)
    return Claim(
        plan,
        check.at_least("epsilon", epsilon, 0.0),
        check.small_probability("delta", delta),
        directions_for(direction),
        choices,
    )
