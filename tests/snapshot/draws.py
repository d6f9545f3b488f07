"""Questions that are answered by draws with a seed."""

from __future__ import annotations

from functools import partial
from typing import Any

import hockeystick as hs
from snapshot.plans import plan
from snapshot.questions import Number, Numbers, Question, by_draws

SEED = 7
# A scheme, a strategy and a noise multiplier, with a delta of some thousandths at epsilon 1.
DRAWN: tuple[tuple[str, str, float], ...] = (
    ("poisson", "identity", 1.2),
    ("poisson, at most 5", "identity", 1.2),
    ("cyclic, random phase", "identity", 2.0),
    ("bins", "bsr", 4.0),
    ("bins", "matrix", 4.0),
    ("allocation", "identity", 1.5),
    ("allocation of 3", "identity", 2.5),
    ("min-sep", "bsr", 3.0),
    ("min-sep, cold", "identity", 2.0),
    ("users", "bsr", 5.0),
    ("users, conjectured", "identity", 4.0),
)


def _numbers(details: Any) -> Numbers:
    """The details of an answer that are numbers."""
    plain = (float, int)
    return {f"detail {name}": value for name, value in details.items() if isinstance(value, plain)}


def _confidence(scheme: str, noise: str, multiplier: float) -> Numbers:
    """An upper confidence bound on delta, at the epsilon that is drawn for and at a larger one."""
    drawn = by_draws(draws=5_000, seed=SEED, epsilon=1.0)
    guarantee = hs.account(plan(scheme, noise), noise_multiplier=multiplier, **drawn)
    answer = guarantee.answer(epsilon=1.0)
    return {
        "kind": guarantee.kind,
        "delta": float(answer.value),
        "delta at 2": guarantee.delta(2.0),
        **_numbers(answer.details),
    }


def _estimated(scheme: str, noise: str, multiplier: float) -> Numbers:
    """Estimates of both directions at two epsilons, and of one direction by itself."""
    run = plan(scheme, noise)
    found: dict[str, Number] = {}
    profile = hs.estimate_profile(
        run, noise_multiplier=multiplier, epsilons=[0.5, 1.5], draws=3_000, seed=SEED
    )
    for side, estimates in profile.items():
        for epsilon, one in zip((0.5, 1.5), estimates, strict=True):
            found[f"{side} at {epsilon}"] = one.value
            found[f"{side} at {epsilon}, high"] = one.high
    one = hs.estimate_delta(run, noise_multiplier=multiplier, epsilon=1.0, draws=2_000, rng=SEED)
    return {**found, "alone": one.value, "alone, low": one.low, "alone, high": one.high}


def _estimated_noise() -> Numbers:
    """About the noise that exact accounting would give."""
    found = hs.estimate_noise(plan("min-sep", "bsr"), epsilon=1.0, delta=1e-3, seed=SEED)
    return {
        "noise": found.noise_multiplier,
        "delta": found.estimated_delta,
        "error": found.relative_error,
    }


def _verified(scheme: str, noise: str, multiplier: float) -> Numbers:
    """What would be drawn for a claim, and what an accepted claim says."""
    claim: dict[str, Any] = {"noise_multiplier": multiplier, "epsilon": 1.0, "delta": 0.02}
    run = plan(scheme, noise)
    wanted = hs.draws_to_verify(run, seed=SEED, **claim)
    guarantee = hs.verify(run, seed=SEED, **claim)
    return {
        "planned draws": wanted.draws,
        "planned trials": len(wanted.trials),
        "estimated delta": wanted.estimated_delta,
        "passes up to": wanted.passes_up_to,
        "feasible": wanted.feasible,
        "kind": guarantee.kind,
        "delta": guarantee.delta(1.0),
        "delta at 0.5": guarantee.delta(0.5),
        "epsilon at 0.05": guarantee.epsilon(0.05),
        **_numbers(guarantee.answer(epsilon=1.0).details),
    }


def _calibrated(draws: int | None) -> Numbers:
    """The noise that is verified from the noisiest candidate down."""
    run = plan("min-sep, short", "coefficients")
    found = hs.calibrate(run, epsilon=1.0, delta=0.01, **by_draws(draws=draws, seed=SEED))
    return {
        "noise": found.noise_multiplier,
        "kind": found.guarantee.kind,
        "tested": found.evaluations,
        "epsilon": found.guarantee.epsilon(0.01),
    }


QUESTIONS = [
    *(Question(f"confidence: {one[0]}, {one[1]}", partial(_confidence, *one)) for one in DRAWN),
    *(Question(f"estimate: {one[0]}, {one[1]}", partial(_estimated, *one)) for one in DRAWN),
    *(
        Question(f"verify: {one[0]}, {one[1]}", partial(_verified, *one))
        for one in (
            ("min-sep", "bsr", 4.0),
            ("bins", "bsr", 5.0),
            ("allocation", "identity", 2.0),
            ("users", "bsr", 8.0),
        )
    ),
    Question("estimated noise", _estimated_noise),
    Question("verified noise", partial(_calibrated, 20_000), long=True),
    Question("verified noise, default draws", partial(_calibrated, None), long=True),
]
