"""The state of individual accounting in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.atomic import check_target, replacing
from hockeystick.errors import InvalidParameter

__all__ = ["load_state", "save_state"]


def save_state(
    path: Path, *, rule: Mapping[str, object], remaining: FloatArray, steps: int
) -> None:
    """Write the state; the file appears complete or not at all."""
    with replacing(check_target("path", path)) as file:
        np.savez(file, rule=np.array(_text(rule)), remaining=remaining, steps=np.array(steps))


def load_state(path: Path, *, rule: Mapping[str, object], examples: int) -> tuple[FloatArray, int]:
    """What is left for each example, and how many steps were charged."""
    with np.load(path, allow_pickle=False) as kept:
        known, remaining, steps = str(kept["rule"]), kept["remaining"], int(kept["steps"])
    if known != _text(rule):
        raise InvalidParameter("path", f"saved with the rule {_text(rule)}", known)
    if remaining.shape != (examples,):
        raise InvalidParameter("path", f"saved with {examples} examples", remaining.size)
    return remaining.astype(np.float64), steps


def _text(rule: Mapping[str, object]) -> str:
    return json.dumps(dict(rule), sort_keys=True)
