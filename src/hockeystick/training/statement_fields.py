"""What the fields of a statement file may be."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

from hockeystick import _validate as check
from hockeystick._text import strict_json
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import KINDS
from hockeystick.strategies.noise import ARITHMETICS
from hockeystick.training.signatures import checked_signature
from hockeystick.training.stated_risk import checked_risk

__all__ = [
    "FIELDS",
    "JOINT_FIELDS",
    "Check",
    "checked_arithmetic",
    "checked_digest",
    "checked_fields",
    "checked_run_id",
    "checked_schedule",
    "checked_text",
    "plain",
    "read_object",
]

# Characters of a SHA-256 digest and of a run's number, hexadecimal.
DIGEST_DIGITS, RUN_DIGITS = 64, 32
# Of a fingerprint, which may be a digest, a name or an address.
LONGEST_TEXT = 1000


def plain(value: Any) -> Any:
    """The value as it is read back from JSON."""
    return json.loads(json.dumps(value, allow_nan=False))


# What a field of a file may be: from its name and value to the checked value.
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


def _filter(name: str, value: Any) -> dict[str, Any]:
    """Any description; which budget it was has a number if it is there."""
    facts = _object(name, value)
    if "budget_id" in facts:
        _hexadecimal("budget_id", facts["budget_id"], RUN_DIGITS)
    return facts


def _objects(name: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) < 2:
        raise InvalidParameter(name, "a list of two statements or more", value)
    return [_object(name, one) for one in value]


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
    """A probe that passed: its step, how many examples it compared, and the largest change."""
    facts = _object(name, value)
    if set(facts) != {"step", "examples", "largest_change", "inputs_as_loaded"}:
        raise InvalidParameter(name, "made of the known facts of a probe", sorted(facts))
    return {
        "step": check.positive_integer("step", facts["step"]),
        "examples": check.positive_integer("examples", facts["examples"]),
        "largest_change": _number(check.probability)("largest_change", facts["largest_change"]),
        "inputs_as_loaded": check.boolean("inputs_as_loaded", facts["inputs_as_loaded"]),
    }


def checked_arithmetic(name: str, value: Any) -> str:
    """One of the known ones."""
    return check.choice(name, value, ARITHMETICS)


def checked_clipping(name: str, value: Any) -> dict[str, Any]:
    """The rule of clipping: its name first, then its numbers."""
    allowed = "{'clipping': 'flat'}, 'automatic' with a gamma, or 'per-layer' with norms"
    facts = dict(value) if isinstance(value, Mapping) else {}
    rule = facts.get("clipping")
    own = CLIPPINGS.get(rule) if isinstance(rule, str) else None
    if own is None or set(facts) != {"clipping", *own}:
        raise InvalidParameter(name, allowed, value)
    return {"clipping": rule, **{k: one(k, facts[k]) for k, one in own.items()}}


def _norms(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise InvalidParameter(name, "a norm for each layer", value)
    return {str(k): _number(check.positive)(name, v) for k, v in value.items()}


CLIPPINGS: dict[str, dict[str, Check]] = {
    "flat": {},
    "automatic": {"gamma": _number(check.positive)},
    "per-layer": {"norms": _norms},
}


def checked_digest(name: str, value: Any) -> str:
    """SHA-256 as hexadecimal digits."""
    return _hexadecimal(name, value, DIGEST_DIGITS)


def checked_run_id(name: str, value: Any) -> str:
    """The number of a run, as hexadecimal digits."""
    return _hexadecimal(name, value, RUN_DIGITS)


def _hexadecimal(name: str, value: Any, digits: int) -> str:
    known = isinstance(value, str) and set(value) <= set("0123456789abcdef")
    if not known or len(value) != digits:
        raise InvalidParameter(name, f"{digits} hexadecimal digits", value)
    return str(value)


def checked_text(name: str, value: Any) -> str:
    """A fingerprint: some characters, all of which can be printed."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_TEXT or not value.isprintable():
        allowed = f"a text of 1 to {LONGEST_TEXT} characters that can be printed"
        raise InvalidParameter(name, allowed, value)
    return value


def checked_schedule(name: str, value: Any) -> list[list[Any]]:
    """Steps in their order: how many, with which noise multiplier, clip norm, rate, count noise.

    The last two are of runs with a filter and with adaptive clipping, and left out elsewhere.
    """
    allowed = "a list of [steps, noise multiplier, clip norm, rate, noise of the count]"
    if not isinstance(value, (list, tuple)):
        raise InvalidParameter(name, allowed, value)
    checks: tuple[Check, ...] = (
        check.positive_integer,
        _number(check.positive),
        _number(check.positive),
        _or_none(_number(check.sampling_rate)),
        _number(check.positive),
    )
    found = []
    for part in value:
        if not isinstance(part, (list, tuple)) or not 3 <= len(part) <= len(checks):
            raise InvalidParameter(name, allowed, part)
        found.append([one(name, number) for one, number in zip(checks, part, strict=False)])
    return found


# The claim, which statements about one run and about several have in common.
CLAIM: dict[str, Check] = {
    "epsilon": _number(lambda name, value: check.at_least(name, value, 0.0)),
    "delta": _number(check.small_probability),
    "adjacency": _text,
    "unit": _text,
    "kind": _kind,
    "method": _text,
    "accuracy": check.relative_accuracy,
}
FIELDS: dict[str, Check] = {
    **CLAIM,
    "priced_for": _text,
    "scheme": _object,
    "strategy": _object,
    "noise_multiplier": _number(check.positive),
    "max_grad_norm": _number(check.positive),
    "planned_steps": check.positive_integer,
    "taken_steps": _count,
    "filter": _or_none(_filter),
    "seeded": check.boolean,
    "probe": _or_none(_probe),
    "note": _or_none(_text),
    "versions": _texts,
    "examples": _or_none(check.positive_integer),
    "run_id": _or_none(checked_run_id),
    "parameters": _or_none(checked_digest),
    "dataset": _or_none(checked_text),
    "taken_schedule": _or_none(checked_schedule),
    "arithmetic": checked_arithmetic,
    "whole_steps": _or_none(check.positive_integer),
    "clipping": checked_clipping,
    "signature": _or_none(checked_signature),
    "risk": _or_none(checked_risk),
}
JOINT_FIELDS: dict[str, Check] = {
    **CLAIM,
    "runs": _objects,
    "note": _or_none(_text),
    "signature": _or_none(checked_signature),
}


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in the text, with its mark of format."""
    try:
        facts = strict_json(text)
    except ValueError as error:
        allowed = "JSON in which every name occurs once, of finite numbers and visible text"
        raise InvalidParameter("statement", allowed, str(error)) from None
    if not isinstance(facts, dict):
        raise InvalidParameter("statement", "a JSON object", text[:60])
    return facts


def checked_fields(facts: Mapping[str, Any], fields: Mapping[str, Check]) -> dict[str, Any]:
    """The facts of a statement, each of the known ones checked; `InvalidParameter` otherwise."""
    if set(facts) != set(fields):
        odd = sorted(set(facts) ^ set(fields))
        raise InvalidParameter("statement", "made of the known facts, each of them", odd)
    return {name: checked(name, facts[name]) for name, checked in fields.items()}
