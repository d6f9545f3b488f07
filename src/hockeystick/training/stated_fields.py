"""What each fact of a statement may be, for files that come from elsewhere."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import KINDS

__all__ = ["CHECKS"]

Check = Callable[[str, Any], Any]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidParameter(name, "text", value)
    return value


def _kind(name: str, value: Any) -> str:
    return check.choice(name, value, KINDS)


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParameter(name, "a JSON object", value)
    return value


def _count(name: str, value: Any) -> int:
    allowed = "an integer >= 0"
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter(name, allowed, value) from None
    if isinstance(value, bool) or number < 0:
        raise InvalidParameter(name, allowed, value)
    return number


def _number(one: Check) -> Check:
    """JSON's true and false are no numbers."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, bool):
            raise InvalidParameter(name, "a number", value)
        return one(name, value)

    return checked


def _texts(name: str, value: Any) -> dict[str, str]:
    return {key: _text(name, text) for key, text in _object(name, value).items()}


def _or_none(one: Check) -> Check:
    return lambda name, value: None if value is None else one(name, value)


def _probe(name: str, value: Any) -> dict[str, Any]:
    """A probe that passed: where, with how many examples, and the largest change that it saw."""
    facts = _object(name, value)
    if set(facts) != {"step", "examples", "largest_change", "inputs_as_loaded"}:
        raise InvalidParameter(name, "made of the known facts of a probe", sorted(facts))
    return {
        "step": check.positive_integer("step", facts["step"]),
        "examples": check.positive_integer("examples", facts["examples"]),
        "largest_change": _number(check.probability)("largest_change", facts["largest_change"]),
        "inputs_as_loaded": check.boolean("inputs_as_loaded", facts["inputs_as_loaded"]),
    }


CHECKS: dict[str, Check] = {
    "epsilon": _number(lambda name, value: check.at_least(name, value, 0.0)),
    "delta": _number(check.small_probability),
    "adjacency": _text,
    "unit": _text,
    "kind": _kind,
    "method": _text,
    "accuracy": check.relative_accuracy,
    "priced_for": _text,
    "scheme": _object,
    "strategy": _object,
    "noise_multiplier": _number(check.positive),
    "max_grad_norm": _number(check.positive),
    "planned_steps": check.positive_integer,
    "taken_steps": _count,
    "filter": _or_none(_object),
    "seeded": check.boolean,
    "probe": _or_none(_probe),
    "note": _or_none(_text),
    "versions": _texts,
}
