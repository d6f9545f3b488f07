"""Statement: a privacy statement as a value, a JSON file and a paragraph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from hockeystick._files import check_target, replacing
from hockeystick._text import escaped, strict_json
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Kind
from hockeystick.plan import Plan
from hockeystick.training.plan_object import plan_from
from hockeystick.training.stated_fields import CHECKS

__all__ = ["FILTER", "FORMAT", "PLAN", "Statement", "plain"]

# The mark of a statement, with the version of its form; the first version had no `probe`.
FORMAT, WITHOUT_PROBE = "hockeystick privacy statement 2", "hockeystick privacy statement 1"
# What the number is the price of.
PLAN, FILTER = "all planned steps", "the whole budget of the filter"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a run guarantees: (epsilon, delta), about whom, how it is known, and what was run.

    `priced_for` says whether the number is the price of all planned steps or of the whole budget of
    a filter; in both cases it does not depend on `taken_steps`. `check_statement` recomputes it.
    `probe` says what the probe for influences between examples found, None if none was run.
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
        """The plan that was run, built again; `InvalidParameter` if the facts describe none."""
        return plan_from(scheme=self.scheme, strategy=self.strategy, steps=self.planned_steps)

    def to_json(self) -> str:
        """One JSON object, with a line for each fact."""
        facts = {"format": FORMAT, **{one.name: getattr(self, one.name) for one in fields(self)}}
        lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in facts.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The statement in the text; `InvalidParameter` if there is none or a fact is missing.

        So it is if a fact occurs twice, or if a text has control characters. Every fact has its
        type and range, but whether they fit together and whether the number is right is the
        question of `check_statement`.
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
        if set(facts) != set(CHECKS):
            odd = sorted(set(facts) ^ set(CHECKS))
            raise InvalidParameter("statement", "made of the known facts, each of them", odd)
        return cls(**{name: check(name, facts[name]) for name, check in CHECKS.items()})

    def save(self, path: str | Path) -> Path:
        """Write the JSON; the file appears complete or not at all."""
        target = check_target("path", Path(path))
        with replacing(target) as file:
            file.write(self.to_json().encode())
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidParameter("path", "a file that can be read", str(error)) from None
        return cls.from_json(text)

    def paragraph(self) -> str:
        """The statement in words, for a model card; what cannot be seen is written as numbers."""
        from hockeystick.training.model_card import paragraph

        return escaped(paragraph(self))

    def __str__(self) -> str:
        return self.paragraph()


def plain(value: Any) -> Any:
    """As it comes back from JSON."""
    return json.loads(json.dumps(value, allow_nan=False))
