"""Questions about guarantees and calibrations."""

from __future__ import annotations

from functools import partial
from typing import Any

import hockeystick as hs
from snapshot.plans import of_laplace, plan
from snapshot.questions import Numbers, Question

DELTA, EPSILON = 1e-5, 1.0
# A scheme, a strategy, the noise multiplier, and the methods that answer quickly.
QUICK: tuple[tuple[str, str, float, str], ...] = (
    ("full batch", "identity", 2.0, "auto gaussian profile renyi"),
    ("full batch", "bsr", 3.0, "auto gaussian profile renyi"),
    ("full batch", "band-inv-mf", 3.0, "auto gaussian"),
    ("full batch", "matrix", 4.0, "auto gaussian"),
    ("poisson", "identity", 2.0, "auto gaussian profile renyi asymptotic-gdp"),
    ("poisson, at most 5", "identity", 2.0, "auto gaussian profile renyi"),
    ("poisson 2000", "identity", 1.2, "auto renyi asymptotic-gdp"),
    ("cyclic", "identity", 2.0, "auto gaussian profile renyi"),
    ("cyclic", "band-mf", 3.0, "auto gaussian profile renyi"),
    ("cyclic", "bsr", 3.0, "auto gaussian renyi"),
    ("cyclic", "coefficients", 3.0, "auto gaussian profile renyi"),
    ("cyclic", "matrix", 3.0, "auto gaussian renyi"),
    ("cyclic, random phase", "identity", 2.0, "auto gaussian profile renyi"),
    ("cyclic, known", "blt", 3.0, "auto gaussian"),
    ("cyclic, known", "bisr", 3.0, "auto gaussian"),
    ("cyclic, known", "band-inv-mf", 3.0, "auto gaussian"),
    ("bins", "identity", 2.0, "auto gaussian profile renyi gram"),
    ("bins", "bsr", 3.0, "gaussian renyi"),
    ("bins", "bisr", 3.0, "gaussian renyi"),
    ("bins", "matrix", 3.0, "gaussian renyi"),
    ("allocation", "identity", 2.0, "auto gaussian profile renyi decomposition"),
    ("allocation, truncated", "identity", 2.0, "auto gaussian renyi"),
    ("allocation of 3", "identity", 2.0, "auto gaussian profile renyi decomposition"),
    ("allocation, one block", "bsr", 3.0, "gaussian"),
    ("min-sep", "identity", 2.0, "gaussian known-participation poisson-reduction"),
    ("min-sep", "bsr", 3.0, "gaussian known-participation"),
    ("min-sep, short", "coefficients", 2.0, "auto renyi"),
    ("min-sep, cold", "identity", 2.0, "gaussian known-participation"),
    ("users", "identity", 2.0, "auto gaussian known-participation poisson-reduction"),
    ("users", "bsr", 3.0, "auto gaussian known-participation"),
    ("users, shared", "identity", 2.0, "auto gaussian known-participation"),
    ("users, conjectured", "identity", 2.0, "auto gaussian known-participation poisson-reduction"),
)
# "auto" where the method that it takes is asked as well: the same number, in the long run only.
REPEATED = (
    *("poisson, identity", "poisson, at most 5, identity", "cyclic, identity", "cyclic, band-mf"),
    *("cyclic, coefficients", "cyclic, random phase, identity", "allocation, identity"),
    *("allocation of 3, identity", "min-sep, short, coefficients"),
)
# The same, for methods that take seconds.
LONG: tuple[tuple[str, str, float, str], ...] = (
    ("allocation", "identity", 2.0, "poisson-reduction"),
    ("allocation of 3", "identity", 2.0, "poisson-reduction"),
    ("allocation, truncated", "identity", 2.0, "profile decomposition poisson-reduction"),
    ("min-sep", "identity", 2.0, "auto renyi"),
    ("min-sep", "band-mf", 2.0, "renyi"),
    ("min-sep", "bsr", 3.0, "renyi poisson-reduction"),
    ("min-sep, cold", "identity", 2.0, "auto renyi poisson-reduction"),
    ("users", "bsr", 3.0, "poisson-reduction"),
)
# Searches among bounds, with both questions or only the one about epsilon.
SEARCHES: tuple[tuple[str, str, float, str, bool], ...] = (
    ("four bins", "bsr", 3.0, "gram", True),
    ("four bins", "matrix", 3.0, "gram", False),
    ("four bins", "identity", 2.0, "conditional", False),
    ("bins", "bsr", 3.0, "auto", True),
    ("bins", "bsr", 3.0, "conditional", False),
    ("bins", "bisr", 3.0, "gram", True),
    ("bins", "band-mf", 2.0, "gram", True),
    ("bins", "blt", 2.0, "gram", False),
    ("bins", "band-inv-mf", 2.0, "gram", False),
    ("allocation, one block", "bsr", 3.0, "auto", False),
    ("allocation, one block", "bsr", 3.0, "gram", False),
    ("bins 1000", "bsr", 4.0, "gram", False),
    ("bins 1000", "bsr", 4.0, "auto", False),
)
DIRECTIONS = ("remove", "add")


def _answered(answer: Any, question: str) -> Numbers:
    """The parts of an answer; a lower bound and an order only where there is one."""
    found: Numbers = {
        question: float(answer.value),
        f"method of {question}": answer.method,
        f"kind of {question}": answer.kind,
    }
    if answer.lower is not None:
        found[f"lower {question}"] = float(answer.lower)
    if "order" in answer.details:
        found[f"order of {question}"] = float(answer.details["order"])
    return found


def _accounted(made: Any, *, both: bool = True, sides: bool = True, **options: Any) -> Numbers:
    """What `account` says about the plan that `made` makes, in both and in single directions."""
    guarantee = hs.account(made(), **options)
    found = {"kind": guarantee.kind, **_answered(guarantee.answer(delta=DELTA), "epsilon")}
    if both:
        found |= _answered(guarantee.answer(epsilon=EPSILON), "delta")
    for direction in DIRECTIONS if sides else ():
        one_sided = hs.account(made(), direction=direction, **options)
        found[f"epsilon to {direction}"] = one_sided.epsilon(DELTA)
        found[f"delta to {direction}"] = one_sided.delta(EPSILON)
    return found


def _searched(made: Any, *, both: bool, **options: Any) -> Numbers:
    """The same for a search: the best order may be another one."""
    found = _accounted(made, both=both, sides=False, **options)
    return {name: number for name, number in found.items() if not name.startswith("order")}


def _methods(scheme: str, noise: str) -> Numbers:
    """Which methods apply, with their kinds."""
    return dict(hs.methods(plan(scheme, noise)))


def _calibrated(made: Any, **options: Any) -> Numbers:
    """The noise that `calibrate` finds, and what it guarantees."""
    found = hs.calibrate(made(), **{"epsilon": 2.0, "delta": DELTA} | options)
    numbers: Numbers = {
        "noise multiplier": found.noise_multiplier,
        "kind": found.guarantee.kind,
        "method": found.guarantee.answer(delta=DELTA).method,
    }
    if options.get("method") != "gram":
        numbers["evaluations"] = found.evaluations
        numbers["epsilon"] = found.guarantee.epsilon(DELTA)
    return numbers


def _baselines(scheme: str) -> Numbers:
    """What runs are compared with."""
    run = plan(scheme)
    found: Numbers = {}
    for name, baseline in hs.baselines.BASELINES.items():
        if baseline.objection(run) is None:
            bound = baseline.bound(run, 2.0)
            options: Any = {"directions": DIRECTIONS, "accuracy": 1e-3}
            found[f"epsilon of {name}"] = float(bound.epsilon(DELTA, **options).value)
            found[f"delta of {name}"] = float(bound.delta(EPSILON, **options).value)
    return found


def _composed() -> Numbers:
    """Two runs on the same data, and other accuracies."""
    first = hs.account(plan("poisson"), noise_multiplier=2.0)
    second = hs.account(plan("allocation"), noise_multiplier=2.0)
    both = first.compose(second)
    fine = hs.account(plan("poisson"), noise_multiplier=2.0, accuracy=1e-4)
    return {
        **_answered(both.answer(delta=DELTA), "epsilon"),
        **_answered(both.answer(epsilon=2.0), "delta"),
        "fine epsilon": fine.epsilon(DELTA),
        "fine lower epsilon": float(fine.answer(delta=DELTA).lower or 0.0),
        "epsilon at 1e-40": first.epsilon(1e-40),
        "delta at 0": first.delta(0.0),
        "trade-off at 0.1": float(first.profile.tradeoff(0.1)),
    }


def _compared() -> Numbers:
    """Every candidate of a small run, with its noise and its error."""
    numbers: Numbers = {}
    compared = hs.compare(examples=1000, batch_size=200, steps=20, epsilon=2.0, delta=DELTA)
    for one in compared:
        name = f"{one.plan.sampling.name}, {one.plan.strategy!r}"
        numbers[f"noise of {name}"] = one.calibration.noise_multiplier
        numbers[f"error of {name}"] = one.mean_squared_error
        numbers[f"method of {name}"] = one.answer.method
    best = compared[0]
    return {**numbers, "best": f"{best.plan.sampling.name}, {best.plan.strategy!r}"}


def _account_questions() -> list[Question]:
    """Every row of the tables above with each of its methods."""
    found = []
    for rows, long in ((QUICK, False), (LONG, True)):
        for scheme, noise, multiplier, methods in rows:
            made = partial(plan, scheme, noise)
            for method in methods.split():
                ask = partial(
                    _accounted, made, noise_multiplier=multiplier, method=method, sides=not long
                )
                again = method == "auto" and f"{scheme}, {noise}" in REPEATED
                found.append(Question(f"{scheme}, {noise}: {method}", ask, long=long or again))
    for scheme, noise, multiplier, method, both in SEARCHES:
        made = partial(plan, scheme, noise)
        ask = partial(_searched, made, noise_multiplier=multiplier, method=method, both=both)
        quick = scheme == "four bins"
        name = f"{scheme}, {noise}: {method}"
        found.append(Question(name, ask, policy="search", long=not quick))
    return found


CALIBRATIONS: tuple[tuple[str, str, dict[str, Any], bool], ...] = (
    ("full batch", "identity", {}, False),
    ("full batch", "bsr", {"method": "renyi"}, False),
    ("poisson", "identity", {}, False),
    ("poisson", "identity", {"method": "renyi"}, False),
    ("poisson", "identity", {"direction": "add"}, False),
    ("poisson", "identity", {"start": 1.5, "accuracy": 1e-3}, False),
    ("cyclic", "band-mf", {}, False),
    ("cyclic, known", "blt", {}, False),
    ("bins", "identity", {"method": "profile"}, False),
    ("bins", "bsr", {"method": "renyi"}, False),
    ("allocation", "identity", {"method": "profile"}, False),
    ("allocation of 3", "identity", {"method": "decomposition"}, True),
    ("min-sep", "bsr", {"method": "poisson-reduction"}, True),
    ("min-sep, short", "coefficients", {"method": "renyi"}, True),
    ("users", "identity", {}, True),
    ("four bins", "bsr", {"method": "gram"}, True),
)


def _calibration_questions() -> list[Question]:
    """Every row of the table of calibrations."""
    found = []
    for scheme, noise, options, long in CALIBRATIONS:
        told = ", ".join(f"{name} {value}" for name, value in options.items()) or "auto"
        ask = partial(_calibrated, partial(plan, scheme, noise), **options)
        policy: Any = "search" if options.get("method") == "gram" else "exact"
        found.append(Question(f"calibrate {scheme}, {noise}: {told}", ask, policy, long))
    return found


LAPLACE = {
    "poisson": hs.Poisson(rate=0.1),
    "allocation": hs.RandomAllocation(picks=1, out_of=10),
}
QUESTIONS = [
    *_account_questions(),
    *_calibration_questions(),
    *(
        Question(
            f"laplace, {name}: {method}", partial(_accounted, partial(of_laplace, s), method=method)
        )
        for name, s in LAPLACE.items()
        for method in ("auto", "profile", "renyi")
    ),
    *(
        Question(f"methods of {scheme}, {noise}", partial(_methods, scheme, noise))
        for scheme, noise in dict.fromkeys(row[:2] for row in (*QUICK, *LONG, *SEARCHES))
    ),
    *(
        Question(f"baselines of {scheme}", partial(_baselines, scheme))
        for scheme in ("poisson", "bins", "allocation, one block")
    ),
    Question("composed guarantees", _composed),
    Question("compare", _compared, long=True),
]
