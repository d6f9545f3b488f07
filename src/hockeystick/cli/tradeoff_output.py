"""What `hockeystick tradeoff` prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from hockeystick.cli.json_output import print_json
from hockeystick.cli.table import plan_text, stdout
from hockeystick.guarantee import Guarantee
from hockeystick.report.numbers import upper_text

__all__ = ["Reading", "print_reading", "print_reading_json"]


@dataclass(frozen=True)
class Reading:
    """What is shown: bounds on true positive rates, and the tightest mu without and with slack."""

    rates: list[float]
    powers: list[float]
    mu: float
    reason: str
    slack: float
    mu_with_slack: float
    seconds: float


def print_reading_json(
    plan: dict[str, Any],
    question: dict[str, Any],
    guarantee: Guarantee,
    reading: Reading,
    plot: Path | None,
) -> None:
    """One JSON object; an infinite mu is null."""
    result = {
        "method": guarantee.method,
        "kind": guarantee.kind,
        "attack": [
            {"false_positive_rate": rate, "true_positive_rate": power}
            for rate, power in zip(reading.rates, reading.powers, strict=True)
        ],
        "mu": reading.mu if math.isfinite(reading.mu) else None,
        "mu_reason": reading.reason,
        "mu_with_slack": reading.mu_with_slack if math.isfinite(reading.mu_with_slack) else None,
        "seconds": round(reading.seconds, 6),
    }
    content: dict[str, Any] = {
        "plan": plan,
        "question": {"quantity": "tradeoff", **question},
        "adjacency": guarantee.adjacency,
        "unit": guarantee.unit,
        "results": [result],
        "best": result,
    }
    if plot is not None:
        content["plot"] = str(plot)
    print_json(content)


def print_reading(
    plan: dict[str, Any],
    question: dict[str, Any],
    guarantee: Guarantee,
    reading: Reading,
    plot: Path | None,
) -> None:
    """A table of rates, the tightest mu and what the numbers are about."""
    console = stdout()
    console.print(plan_text(plan), style="bold")
    console.print(f"noise multiplier {question['noise_multiplier']:g}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("false positive rate", "true positive rate, at most", "times guessing"):
        table.add_column(title, justify="right")
    for rate, power in zip(reading.rates, reading.powers, strict=True):
        factor = upper_text(power / rate, 3) if rate > 0 else "-"
        table.add_row(f"{rate:g}", upper_text(power), factor)
    console.print(table, soft_wrap=False)
    if math.isfinite(reading.mu):
        console.print(f"tightest mu-GDP: mu {upper_text(reading.mu)} ({reading.reason})")
    else:
        console.print(f"tightest mu-GDP: none, because {reading.reason}")
    relaxed = reading.mu_with_slack
    text = upper_text(relaxed) if math.isfinite(relaxed) else "none"
    console.print(f"tightest mu up to a delta of {reading.slack:g}: {text}")
    console.print(f"method: {guarantee.method}; kind: {guarantee.kind}")
    console.print(
        f"adjacency: {guarantee.adjacency}; unit: {guarantee.unit}; "
        f"direction: {question['direction']}"
    )
    if plot is not None:
        console.print(f"plot written to {plot}")
