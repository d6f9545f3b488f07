"""The risk of membership inference in a statement: what is stated, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hockeystick import _validate as check
from hockeystick.bounds.risk import USUAL_PRIOR, USUAL_RATE
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.training.sum_lattice import added_delta

__all__ = ["checked_risk", "risk_of", "risk_problems", "risk_sentence"]

# The names in a statement; the first two bounds are upper ones, the third a lower one.
NAMES = ("advantage", "true_positive_rate", "false_positive_rate", "bayes_risk", "prior")
# How far a stated bound may be better than the recomputed one: another machine rounds differently.
ROUNDING = 1e-6


def risk_of(
    guarantee: Guarantee,
    *,
    exact_runs: int = 0,
    false_positive_rate: float = USUAL_RATE,
    prior: float = USUAL_PRIOR,
) -> dict[str, float]:
    """Bounds for every attack on one example, as fields of a statement.

    Noise that is drawn with a small distance t from its law moves every probability by at most t:
    the true positive rate at a is at most that of the law at a + t, plus t. `InvalidParameter` if
    the guarantee is not proven: its numbers at other epsilons would not be what it was claimed for.
    """
    if guarantee.kind != "proven":
        raise InvalidParameter("risk", "left out unless the guarantee is proven", guarantee.kind)
    moved = added_delta(0.0, exact_runs)
    smaller = min(check.small_probability("prior", prior), 1 - prior)
    order = math.log((1 - smaller) / smaller)
    rate = min(1.0 - moved, check.small_probability("rate", false_positive_rate) + moved)
    return {
        "advantage": min(1.0, guarantee.advantage() + moved),
        "true_positive_rate": min(1.0, guarantee.true_positive_rate(rate) + moved),
        "false_positive_rate": false_positive_rate,
        "bayes_risk": max(
            0.0, guarantee.bayes_risk(prior) - smaller * added_delta(order, exact_runs)
        ),
        "prior": prior,
    }


def checked_risk(name: str, value: Any) -> dict[str, float]:
    """All five numbers, each a probability."""
    if not isinstance(value, Mapping) or set(value) != set(NAMES):
        raise InvalidParameter(name, f"an object with {', '.join(NAMES)}", value)
    if any(isinstance(one, bool) for one in value.values()):
        raise InvalidParameter(name, "made of numbers", value)
    found = {key: check.probability(key, value[key]) for key in NAMES}
    for key in ("false_positive_rate", "prior"):
        check.small_probability(key, found[key])
    return found


def risk_problems(
    stated: Mapping[str, float], guarantee: Guarantee, *, exact_runs: int
) -> Iterator[str]:
    """Where the recomputed risk is larger."""
    found = risk_of(
        guarantee,
        exact_runs=exact_runs,
        false_positive_rate=stated["false_positive_rate"],
        prior=stated["prior"],
    )
    for name in ("advantage", "true_positive_rate"):
        if not stated[name] >= found[name] * (1 - ROUNDING):
            yield f"the {_words(name)} {stated[name]:.8g} is below the recomputed {found[name]:.8g}"
    if not stated["bayes_risk"] <= found["bayes_risk"] * (1 + ROUNDING):
        yield (
            f"the Bayes risk {stated['bayes_risk']:.8g} is above the recomputed "
            f"{found['bayes_risk']:.8g}"
        )


def risk_sentence(stated: Mapping[str, float]) -> str:
    """For a model card; bounds are rounded to the safe side."""
    rate = f"{100 * stated['false_positive_rate']:g} %"
    return (
        f"Whoever tests whether one example was used has an advantage of at most "
        f"{_up(stated['advantage'])}, finds at most {_up(stated['true_positive_rate'])} of the "
        f"members with false alarms for {rate} of the others, and errs with a probability of at "
        f"least {_down(stated['bayes_risk'])} where an example is used with probability "
        f"{stated['prior']:g}."
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


# Digits behind the point in sentences.
DIGITS = 4


def _up(value: float) -> str:
    return f"{min(1.0, math.ceil(value * 10**DIGITS) / 10**DIGITS):.{DIGITS}f}"


def _down(value: float) -> str:
    return f"{math.floor(value * 10**DIGITS) / 10**DIGITS:.{DIGITS}f}"
