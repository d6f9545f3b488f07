"""Statement: a privacy statement as a value, a JSON file and a paragraph, with checked fields."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from hockeystick import _validate as check
from hockeystick._files import check_target, replacing
from hockeystick._text import escaped, strict_json
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import KINDS, Kind
from hockeystick.plan import Plan
from hockeystick.training.plan_object import plan_from

__all__ = ["FILTER", "FORMAT", "PLAN", "Statement", "plain"]

# The format of the file, with its version; the first version had no `probe`.
FORMAT, WITHOUT_PROBE = "hockeystick privacy statement 2", "hockeystick privacy statement 1"
# What epsilon accounts for.
PLAN, FILTER = "all planned steps", "the whole budget of the filter"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a run guarantees: (epsilon, delta), about whom, how it is known, and what was run.

    Made by `statement` or `run.statement`; `check_statement` recomputes its number.

    Attributes
    ----------
    epsilon, delta
        The guarantee; epsilon is an upper bound.
    adjacency, unit
        Which data sets are neighbours, and whether an example or a user is protected.
    kind, method, accuracy
        How epsilon is known, and with which settings it was computed.
    priced_for
        What epsilon accounts for: all planned steps, or the whole budget of a filter. In both cases
        it does not depend on `taken_steps`.
    scheme, strategy
        The sampling scheme and the strategy as plain values, from which `plan` is built again.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm.
    planned_steps, taken_steps
        The steps of the plan, and those that were taken.
    filter
        The filter as plain values, or None.
    seeded
        Whether the caller knows the seed of batches or noise.
    probe
        What the independence probe found; None if none was run.
    note
        A remark of the analysis, or None.
    versions
        The versions of the software that ran.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> record = hs.training.RunRecord(
    ...     plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100
    ... )
    >>> stated = hs.training.statement(record, delta=1e-5)
    >>> stated.kind, stated.priced_for
    ('proven', 'all planned steps')
    >>> hs.training.Statement.from_json(stated.to_json()) == stated
    True
    """

    epsilon: float
    delta: float
    adjacency: str
    unit: str
    kind: Kind
    method: str
    accuracy: float
    priced_for: str
    scheme: Mapping[str, Any]
    strategy: Mapping[str, Any]
    noise_multiplier: float
    max_grad_norm: float
    planned_steps: int
    taken_steps: int
    filter: Mapping[str, Any] | None
    seeded: bool
    probe: Mapping[str, Any] | None
    note: str | None
    versions: Mapping[str, str]

    @cached_property
    def plan(self) -> Plan:
        """The plan that was run, built again; `InvalidParameter` if the fields describe none."""
        return plan_from(scheme=self.scheme, strategy=self.strategy, steps=self.planned_steps)

    def to_json(self) -> str:
        """One JSON object, with a line for each field."""
        values = {"format": FORMAT, **{one.name: getattr(self, one.name) for one in fields(self)}}
        lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in values.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The statement in the text.

        Every field has its type and range; whether they are consistent and whether the number is
        right is the question of `check_statement`.

        Parameters
        ----------
        text
            What `to_json` returned.

        Returns
        -------
        Statement
            The statement in the text.

        Raises
        ------
        InvalidParameter
            If the text is no statement, a field is missing or occurs twice, or a text has control
            characters.
        """
        try:
            facts = strict_json(text)
        except ValueError as error:
            allowed = "JSON in which every name occurs once, of finite numbers and visible text"
            raise InvalidParameter("statement", allowed, str(error)) from None
        mark = facts.pop("format", None) if isinstance(facts, dict) else None
        if mark == WITHOUT_PROBE and "probe" not in facts:
            facts["probe"] = None
        elif mark != FORMAT:
            raise InvalidParameter(
                "statement", f"a JSON object of the format {FORMAT!r}", text[:60]
            )
        if set(facts) != set(FIELDS):
            odd = sorted(set(facts) ^ set(FIELDS))
            raise InvalidParameter("statement", "made of the known facts, each of them", odd)
        return cls(**{name: checked(name, facts[name]) for name, checked in FIELDS.items()})

    def save(self, path: str | Path) -> Path:
        """Write the JSON; the file appears complete or not at all.

        Parameters
        ----------
        path
            The file; one that exists is replaced.

        Returns
        -------
        pathlib.Path
            The path.
        """
        target = check_target("path", Path(path))
        with replacing(target) as file:
            file.write(self.to_json().encode())
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        InvalidParameter
            If it cannot be read or is no statement, see `from_json`.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidParameter("path", "a file that can be read", str(error)) from None
        return cls.from_json(text)

    def paragraph(self) -> str:
        """The statement in words, for a model card; invisible characters are escaped."""
        from hockeystick.training.model_card import paragraph

        return escaped(paragraph(self))

    def __str__(self) -> str:
        return self.paragraph()


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


FIELDS: dict[str, Check] = {
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
