"""A candidate of a comparison as plain values, and as the cells of a table."""

from __future__ import annotations

from typing import Any

from hockeystick.accounting.compare import Compared
from hockeystick.report.families import scheme_of
from hockeystick.report.numbers import upper_text

__all__ = ["COLUMNS", "cells", "result_row", "strategy_text"]

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
