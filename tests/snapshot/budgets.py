"""Questions about filters: charges and what is left after requests in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import hockeystick as hs
from snapshot.questions import Numbers, Question, summary

REQUESTS: tuple[dict[str, Any], ...] = (
    {"rate": 0.05, "noise_multiplier": 1.5, "steps": 20},
    {"rate": 0.05, "noise_multiplier": 1.2},
    {"rate": 0.1, "noise_multiplier": 2.0, "steps": 5},
    {"rate": 0.02, "noise_multiplier": 0.9, "sensitivity": 0.5},
)
FULL: tuple[dict[str, Any], ...] = (
    {"noise_multiplier": 8.0, "steps": 10},
    {"noise_multiplier": 5.0},
    {"rate": 0.5, "noise_multiplier": 6.0, "sensitivity": 0.5, "steps": 3},
)
LARGE: tuple[dict[str, Any], ...] = (
    {"rate": 0.9, "noise_multiplier": 8.0, "steps": 10},
    {"rate": 0.85, "noise_multiplier": 5.0},
)
PROFILES: tuple[dict[str, Any], ...] = (
    {"profile": hs.Profile.laplace(scale=10.0)},
    {"profile": hs.Profile.randomized_response(epsilon=0.1), "steps": 2},
)
SMALL: tuple[dict[str, Any], ...] = (
    {"rate": 0.01, "noise_multiplier": 1.5, "steps": 20},
    {"rate": 0.01, "noise_multiplier": 2.0},
    {"rate": 0.02, "noise_multiplier": 3.0, "steps": 5},
)
# Designed for rate 0.01 and noise between 1.4 and 2.5, one step at a time.
PROCESS = hs.filters.LevyProcess(
    gaussian=4.253e-5,
    unit=0.00448,
    sizes=(1, 19, 24, 68, 84, 104),
    rates=(1.287, 2.981e-4, 3.238e-4, 1.716e-7, 2.455e-10, 4.654e-10),
    killing=6.932e-11,
    catalyst=0.002815,
)
STEP = hs.Profile.randomized_response(epsilon=0.2)
WANTED: dict[str, float] = {"epsilon": 2.0, "delta": 1e-5}
EXPECTED = (0.05, 1.5, 20)


def _made(name: str) -> Any:
    """A new filter by its name."""
    filters = hs.filters
    makers: dict[str, Any] = {
        "renyi": lambda: filters.Renyi(**WANTED, expected=[EXPECTED]),
        "renyi, full batches": lambda: filters.Renyi(**WANTED),
        "renyi, order 7.5": lambda: filters.Renyi(**WANTED, order=7.5),
        "gaussian": lambda: filters.Gaussian(mu=1.0),
        "approximate": lambda: filters.ApproximateGaussian(mu=0.5),
        "approximate, large": lambda: filters.ApproximateGaussian(mu=1.0, regime="large"),
        "natural": lambda: filters.NaturalFDP(
            family=[hs.Profile.gaussian(noise_multiplier=one) for one in (5.0, 8.0, 12.0)],
            budget=hs.Profile.gaussian(noise_multiplier=1.0),
        ),
        "natural, powers": lambda: filters.NaturalFDP(
            family=[STEP, STEP.self_compose(2)], budget=STEP.self_compose(10)
        ),
        "levy, given": lambda: filters.Levy(epsilon=1.3, delta=1e-5, process=PROCESS),
        "levy, full batches": lambda: filters.Levy(**WANTED),
    }
    return makers[name]()


def _scripted(name: str, requests: Sequence[dict[str, Any]]) -> Numbers:
    """Every charge, then one request that is clipped to what is left, then nothing is left."""
    budget = _made(name)
    found: Numbers = {"kind": budget.kind, "budget": float(budget.budget)}
    if hasattr(budget, "order"):
        found["order"] = float(budget.order)
    for number, request in enumerate(requests):
        with budget.request(**request) as permit:
            found[f"charge {number}"] = permit.charge
    budget.request(**requests[0]).cancel()
    found["spent"] = budget.spent
    found["remaining"] = budget.remaining
    guarantee = budget.guarantee()
    found["epsilon"] = guarantee.epsilon(1e-5)
    found["delta"] = guarantee.delta(1.0)
    found["realised epsilon"] = budget.audit().epsilon(1e-5).realised
    if "noise_multiplier" in requests[0]:
        last = budget.request(**{**requests[0], "steps": 100_000})
        found["last charge"] = last.charge
        found["last clip scale"] = last.clip_scale
    else:
        found["refused"] = _refused(budget, {**requests[0], "steps": 1_000})
    return {**found, "remaining at last": budget.remaining, "entries": len(budget.history)}


def _refused(budget: Any, request: dict[str, Any]) -> bool:
    """Whether the request does not fit any more."""
    try:
        budget.request(**request)
    except hs.errors.BudgetExceeded:
        return True
    return False


def _powers() -> Numbers:
    """Exponents of one mechanism are whole numbers."""
    budget = _made("natural, powers")
    first = budget.request(profile=STEP, steps=3)
    second = budget.request(profile=STEP.self_compose(2), steps=2)
    return {
        "budget": float(budget.budget),
        "charge 0": float(first.charge),
        "charge 1": float(second.charge),
        "remaining": float(budget.remaining),
        "refused": _refused(budget, {"profile": STEP, "steps": 4}),
        "epsilon": budget.guarantee().epsilon(1e-5),
    }


def _not_a_chain() -> Numbers:
    """The counterexample of a family that is refused."""
    family = [hs.Profile.gaussian(noise_multiplier=2.0), hs.Profile.laplace(scale=2.0)]
    try:
        hs.filters.NaturalFDP(family=family, budget=family[0])
    except hs.filters.NotAChain as refusal:
        test = refusal.test
    found: Numbers = {"holds": str(test.holds), "steps": test.steps}
    if test.witness is not None:
        found |= summary("calibration points", test.witness.calibration_points)
        shown = test.witness.counterexample
        if shown is not None:
            found |= {"gamma": shown.gamma, "height": shown.height, "budget": shown.budget}
    return found


def _individual(rule: str) -> Numbers:
    """A hundred examples, three steps; the largest norms are exhausted first."""
    individual = hs.filters.Individual
    makers: dict[str, Any] = {
        "renyi": lambda: individual.renyi(examples=100, **WANTED, expected=[(0.1, 1.0, 100)]),
        "gaussian": lambda: individual.gaussian(examples=100, mu=1.0),
        "approximate": lambda: individual.approximate(examples=100, mu=0.5),
    }
    budget = makers[rule]()
    norms = np.linspace(0.0, 2.0, 100)
    rate = 1.0 if rule == "gaussian" else 0.1
    found: Numbers = {"kind": budget.kind, "budget": float(budget.budget)}
    for number, multiplier in enumerate((2.0, 1.2, 0.4)):
        step = budget.step(norms[:: 1 - 2 * (number % 2)], rate=rate, noise_multiplier=multiplier)
        found |= summary(f"factors {number}", step.factors)
        found[f"active {number}"] = int(step.active.sum())
    found |= summary("spent", budget.spent)
    found |= summary("remaining", budget.remaining)
    return {**found, "epsilon": budget.guarantee().epsilon(1e-5)}


def _levy_designed() -> Numbers:
    """Shares of the budget of a process that is designed for what is expected."""
    budget = hs.filters.Levy(**WANTED, expected=[EXPECTED])
    found: Numbers = {"kind": budget.kind, "epsilon": budget.guarantee().epsilon(1e-5)}
    for number, request in enumerate(REQUESTS[:3]):
        found[f"share {number}"] = budget.request(**request).charge / budget.budget
    return found


SCRIPTS: dict[str, Sequence[dict[str, Any]]] = {
    "renyi": REQUESTS,
    "renyi, full batches": FULL,
    "renyi, order 7.5": (*REQUESTS, *PROFILES),
    "gaussian": FULL,
    "approximate": REQUESTS,
    "approximate, large": LARGE,
    "natural": FULL[:2],
    "levy, given": SMALL,
    "levy, full batches": FULL,
}
QUESTIONS = [
    *(
        Question(f"filter {name}", partial(_scripted, name, requests))
        for name, requests in SCRIPTS.items()
    ),
    Question("filter natural, powers", _powers),
    Question("filter natural, refused", _not_a_chain),
    *(
        Question(f"individual {rule}", partial(_individual, rule))
        for rule in ("renyi", "gaussian", "approximate")
    ),
    Question("filter levy, designed", _levy_designed, policy="search", long=True),
]
