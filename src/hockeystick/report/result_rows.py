"""Compared plans: in families, as plain values, and as the cells of a table.

A family is one scheme with one factorization, whatever their parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick.accounting.compare import Compared
from hockeystick.report.numbers import upper_text

__all__ = [
    "COLUMNS",
    "Family",
    "cells",
    "families",
    "family_of",
    "result_row",
    "scheme_of",
    "strategy_text",
]


@dataclass(frozen=True)
class Family:
    """Candidates with the same scheme and factorization; the one with the least error is first."""

    label: str
    members: tuple[Compared, ...]

    @property
    def best(self) -> Compared:
        """The member with the least error."""
        return self.members[0]


def scheme_of(one: Compared) -> str:
    """The scheme by name; batches without chance are called fixed."""
    sampling = one.plan.sampling
    return "fixed batches" if sampling.participation_known else sampling.name


def family_of(one: Compared) -> str:
    """Scheme and strategy by name."""
    return f"{scheme_of(one)}, {one.plan.strategy.name}"


def families(compared: Sequence[Compared]) -> list[Family]:
    """All families in the order of their best members; `compared` is sorted by error."""
    found: dict[str, list[Compared]] = {}
    for one in compared:
        found.setdefault(family_of(one), []).append(one)
    return [Family(label, tuple(members)) for label, members in found.items()]


# Titles, and whether the column has numbers.
COLUMNS = (
    ("scheme", False),
    ("strategy", False),
    ("bands", True),
    ("noise\nmultiplier", True),
    ("mse", True),
    ("kind", False),
    ("seconds", True),
)


def strategy_text(one: Compared) -> str:
    """The factorization, with its number of buffers if it has any."""
    strategy = one.plan.strategy
    buffers = strategy.parameters.get("buffers")
    return strategy.name if buffers is None else f"{strategy.name} ({buffers} buffers)"


def cells(one: Compared) -> tuple[str, ...]:
    """The texts of a row, one for each of the columns; upper bounds are rounded up."""
    return (
        scheme_of(one),
        strategy_text(one),
        str(one.plan.strategy.parameters.get("bands", "")),
        upper_text(one.calibration.noise_multiplier),
        upper_text(one.mean_squared_error),
        one.answer.kind,
        f"{one.seconds:.2f}",
    )


def result_row(one: Compared, examples: int) -> dict[str, Any]:
    """What `--json` prints for a candidate."""
    return {
        **one.plan.describe(),
        "expected_batch_size": one.plan.sampling.expected_batch_size(examples),
        "method": one.answer.method,
        "kind": one.answer.kind,
        "noise_multiplier": one.calibration.noise_multiplier,
        "reached_epsilon": one.answer.value,
        "mse": one.mean_squared_error,
        "seconds": round(one.seconds, 6),
    }
