"""Which fields of a statement a check covers, and which nobody can check from the file alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hockeystick.errors import InvalidParameter
from hockeystick.training.joint import JointStatement
from hockeystick.training.statement_fields import plain
from hockeystick.training.statements import Statement

__all__ = ["Coverage", "coverage_of", "unexpected"]

# From these the number is recomputed; a larger epsilon, or a weaker kind, holds as well.
CLAIM = ("epsilon", "delta", "adjacency", "unit", "kind", "method", "accuracy")
RUN = ("priced_for", "scheme", "strategy", "noise_multiplier", "planned_steps", "filter")
# The number of a filter does not depend on these.
NOT_OF_A_FILTER = ("scheme", "strategy", "noise_multiplier", "planned_steps")
# These must fit each other.
FITTING = (
    "max_grad_norm",
    "taken_steps",
    "taken_schedule",
    "probe",
    "arithmetic",
    "clipping",
    "whole_steps",
)

# The attributes of `Coverage` for fields, from what is known best to what is not known.
GROUPS = ("recomputed", "expected", "consistent", "unchecked")


@dataclass(frozen=True)
class Coverage:
    """Every field of a statement once, by what is known about it.

    Attributes
    ----------
    recomputed
        The number follows from these.
    expected
        Compared with what the caller expects.
    consistent
        These fit each other; whether they are true is not known.
    unchecked
        Nothing is known about these from the file.
    signature
        "valid" if the owner of the given key signed all fields as they are, "invalid" if not; "not
        checked" if it is signed and no key was given; "absent".
    """

    recomputed: tuple[str, ...]
    expected: tuple[str, ...]
    consistent: tuple[str, ...]
    unchecked: tuple[str, ...]
    signature: str


def coverage_of(
    statement: Statement | JointStatement, *, expect: Mapping[str, Any], signature: str
) -> Coverage:
    """What a check of the statement covers; fields of a joint one's runs are called `runs.NAME`.

    A field that is covered differently in two runs is listed with the least that is known.
    """
    groups = _groups(statement, expect)
    if isinstance(statement, JointStatement):
        inner = {name: value for name, value in expect.items() if name not in groups}
        of_runs = [_groups(run, inner) for run in statement.runs]
        del groups["runs"]
        # Signatures of single runs are never checked.
        groups |= {
            f"runs.{name}": max((one[name] for one in of_runs), key=GROUPS.index)
            for name in of_runs[0]
        } | {"runs.signature": "unchecked"}
    listed = {
        group: tuple(name for name, found in groups.items() if found == group) for group in GROUPS
    }
    return Coverage(**listed, signature=signature)


def _groups(statement: Statement | JointStatement, expect: Mapping[str, Any]) -> dict[str, str]:
    """Each field but the signature, and which of `GROUPS` it is in."""
    names = [one.name for one in fields(statement) if one.name != "signature"]
    recomputed, fitting = {*CLAIM, *RUN}, set(FITTING)
    if isinstance(statement, Statement) and statement.filter is not None:
        fitting |= set(NOT_OF_A_FILTER)
    if isinstance(statement, Statement) and statement.risk is not None:
        recomputed |= {"risk"}
    if isinstance(statement, Statement) and statement.probe is None:
        fitting -= {"probe"}
    if isinstance(statement, Statement) and statement.taken_schedule is None:
        fitting -= {"taken_schedule", "max_grad_norm"}

    def group(name: str) -> str:
        if name in expect:
            return "expected"
        if name in fitting:
            return "consistent"
        return "recomputed" if name in recomputed else "unchecked"

    return {name: group(name) for name in names}


def unexpected(statement: Statement | JointStatement, expect: Mapping[str, Any]) -> Iterator[str]:
    """Fields that are not what the caller expects; text stands for numbers as well.

    What a joint statement does not have itself is compared in each of its runs; the final
    parameters are those of the last one, and runs before it may have none.
    """
    names = {one.name for one in fields(statement)}
    for name, wanted in expect.items():
        if name in names and name not in ("runs", "signature"):
            found = plain(getattr(statement, name))
            if wanted not in (found, str(found)):
                yield f"{name} is {found!r:.100} and not the expected {wanted!r:.100}"
        elif isinstance(statement, JointStatement) and name in Statement.__dataclass_fields__:
            for number, run in enumerate(statement.runs, start=1):
                if name == "parameters" and run.parameters is None and number < len(statement.runs):
                    continue
                for line in unexpected(run, {name: wanted}):
                    yield f"run {number}: {line}"
        else:
            raise InvalidParameter("expect", f"about a field: {', '.join(sorted(names))}", name)
