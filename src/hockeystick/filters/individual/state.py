"""The state of individual accounting in a file."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from hockeystick._files import check_target, replacing
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = ["load_state", "save_state"]

# What NumPy and the archive raise for files that are damaged or something else.
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def save_state(
    path: Path, *, rule: Mapping[str, object], remaining: FloatArray, steps: int
) -> None:
    """Write the state; the file appears complete or not at all."""
    with replacing(check_target("path", path)) as file:
        np.savez(file, rule=np.array(_text(rule)), remaining=remaining, steps=np.array(steps))


def load_state(
    path: Path, *, rule: Mapping[str, object], examples: int, budget: float
) -> tuple[FloatArray, int]:
    """What is left for each example, and how many steps were charged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            known, steps = str(kept["rule"]), int(kept["steps"])
            remaining = kept["remaining"].astype(np.float64, casting="safe")
    except _UNREADABLE:
        raise InvalidParameter("path", "a file that `save` wrote", str(path)) from None
    if known != _text(rule):
        raise InvalidParameter("path", f"saved with the rule {_text(rule)}", known)
    if remaining.shape != (examples,):
        raise InvalidParameter("path", f"saved with {examples} examples", remaining.size)
    possible = (remaining >= 0) & (remaining <= budget) & (remaining % math.ulp(budget) == 0)
    if not (steps >= 0 and np.all(possible)):
        raise InvalidParameter("path", f"an undamaged state, at most {budget!r} left", str(path))
    return remaining, steps


def _text(rule: Mapping[str, object]) -> str:
    return json.dumps(dict(rule), sort_keys=True)
