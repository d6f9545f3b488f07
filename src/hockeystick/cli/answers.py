"""What a command found out, before it is put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hockeystick.cli.pricing import Row
from hockeystick.cli.yardsticks import Yardstick

__all__ = ["Answers", "Quantity"]

Quantity = Literal["epsilon", "delta", "noise_multiplier"]


@dataclass(frozen=True)
class Answers:
    """The rows of one question: `quantity` is what was asked for, `question` what was given."""

    plan: Mapping[str, Any]
    quantity: Quantity
    question: Mapping[str, float | str]
    rows: list[Row]
    plot: Path | None
    baselines: list[Yardstick] = field(default_factory=list)
