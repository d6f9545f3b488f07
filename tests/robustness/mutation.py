"""One random change somewhere in a nested value, for files and states that come from elsewhere."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

__all__ = ["damaged_text", "mutated"]

NUMBERS = (0, 1, -1, 2, 0.5, -0.0, 1e-300, 1e300, math.nan, math.inf, 2**64, 10**400)
OTHERS = (None, True, False, "", "x", "\x1b[31m", [], {}, [1.0], {"a": 1}, 3, 0.25, -7, b"bytes")


def mutated(value: Any, rng: np.random.Generator) -> Any:
    """A copy with one change: a part removed, added, exchanged, or another number or text."""
    made = copy.deepcopy(value)
    holder, name = _somewhere(made, rng)
    change = rng.integers(10)
    if change == 0:
        del holder[name]
    elif change == 1 and isinstance(holder, dict):
        holder[f"{name}_"] = holder.pop(name)
    elif change == 2 and isinstance(holder, dict) and len(holder) > 1:
        other = _one_of(list(holder), rng)
        holder[name], holder[other] = holder[other], holder[name]
    elif change == 3:
        holder[name] = _one_of(OTHERS, rng)
    else:
        holder[name] = _another(holder[name], rng)
    return made


def damaged_text(text: str, rng: np.random.Generator) -> str:
    """A character changed, removed or added, a part cut out or repeated, or the end lost."""
    start, end = sorted(int(one) for one in rng.integers(len(text) + 1, size=2))
    end = min(end, start + 40)
    new = _one_of('0123456789eE.-+"{}[],: aZ\x00\x1b\u202e', rng)
    return _one_of(
        (
            text[:start] + new + text[start + 1 :],
            text[:start] + text[start + 1 :],
            text[:start] + new + text[start:],
            text[:start] + text[end:],
            text[:end] + text[start:],
            text[:start],
        ),
        rng,
    )


def _somewhere(value: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A dictionary or list somewhere inside, and a place in it."""
    while True:
        names = list(value) if isinstance(value, dict) else list(range(len(value)))
        name = _one_of(names, rng)
        inner = value[name]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.1:
            return value, name
        value = inner


def _another(value: Any, rng: np.random.Generator) -> Any:
    """Something like the value; numbers become smaller, larger or odd."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        factor = _one_of((0, -1, 0.5, 0.999, 1.001, 2, 1e-6, 1e6), rng)
        if rng.random() < 0.3:
            return _one_of(NUMBERS, rng)
        return type(value)(value * factor) if abs(value) < 1e30 else value ^ 1
    if isinstance(value, str):
        place = int(rng.integers(len(value) + 1))
        return _one_of(
            (
                value[:place],
                value.swapcase(),
                value[:place] + "\u202e" + value[place:],
                value + "1",
            ),
            rng,
        )
    if hasattr(value, "shape"):
        return _another_array(value, rng)
    return _one_of(OTHERS, rng)


def _another_array(value: Any, rng: np.random.Generator) -> Any:
    """An array or tensor with one entry changed, all of them, or of another shape or type."""
    made = value.copy() if isinstance(value, np.ndarray) else value.clone()
    if made.size == 0 if isinstance(made, np.ndarray) else made.numel() == 0:
        return None
    flat = made.reshape(-1)
    change = int(rng.integers(5))
    if change == 0:
        flat[int(rng.integers(len(flat)))] = 1
    elif change == 1:
        flat[:] = 0
    elif change == 2:
        return flat[:-1]
    elif change == 3:
        return made.astype(np.int8) if isinstance(made, np.ndarray) else made.bool()
    else:
        return flat.reshape(1, -1)
    return made


def _one_of(choices: Any, rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]
