"""Whether the gradient of an example depends on the others of its batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import PlanMismatch
from hockeystick.schemes import Indices

__all__ = ["halves", "probe_gradients"]

# Examples of a batch that are compared, together and in parts.
EXAMPLES = 4
# Largest relative change that rounding in single precision explains.
TOLERANCE = 1e-4
# A gradient this much shorter than the longest of the sample is measured by the longest.
NEGLIGIBLE = 1e-3


def probe_gradients(
    gradients: Callable[[Indices], FloatArray], batch: Indices, *, step: int
) -> dict[str, object] | None:
    """Compare rows of `gradients` for a few examples together, in parts, and in the whole batch.

    Each two of the examples are together once and apart once. Returns the facts for a statement, or
    None if nothing can be said: there is one example, or the function gives other rows each time.
    `PlanMismatch` if a row changes with its company. Costs seven calls with few examples and one
    with the whole batch.
    """
    if batch.size < 2:
        return None
    rows = np.unique(np.linspace(0, batch.size - 1, min(batch.size, EXAMPLES)).astype(np.int64))
    sample = batch[rows]
    whole = gradients(sample)
    if not np.array_equal(gradients(sample), whole, equal_nan=True):
        return None
    changes = [_change(gradients(sample[part]), whole[part]) for part in halves(sample.size)]
    worst = max(*changes, _change(gradients(batch)[rows], whole))
    if not worst <= TOLERANCE:
        raise PlanMismatch(
            f"Examples of a batch influence each other: a row of the gradients changes by "
            f"{worst:.2g} of its length with the others that are there; each row has to be the "
            "gradient of one example alone."
        )
    return {
        "step": step,
        "examples": int(sample.size),
        "largest_change": worst,
        "inputs_as_loaded": True,
    }


def halves(size: int) -> list[list[int]]:
    """Parts of range(size): every two numbers are in different parts of one of the divisions."""
    bits = range((size - 1).bit_length())
    return [[i for i in range(size) if i >> bit & 1 == side] for bit in bits for side in (0, 1)]


def _change(now: FloatArray, expected: FloatArray) -> float:
    """The largest change of a row, relative to its length; rows that are no numbers are equal."""
    now, expected = np.nan_to_num(now), np.nan_to_num(expected)
    lengths = np.linalg.norm(expected, axis=1)
    least = max(float(lengths.max()) * NEGLIGIBLE, float(np.finfo(np.float32).tiny))
    moved = np.linalg.norm(now - expected, axis=1)
    return float(np.max(moved / np.maximum(lengths, least)))
