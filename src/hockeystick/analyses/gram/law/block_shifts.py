"""Blocks of neighbouring bins, each seen along the direction of its mean.

Without the entries between blocks a Gram matrix is smaller entry by entry. Within a block with the
matrix K the projection of all means on their average has the matrix s s^T, s = K 1 / sqrt(1^T K 1),
and K - s s^T is positive semidefinite. Of matrices s s^T without negative entries the one with
the smallest s is below the others. So the average of independent one-dimensional mixtures, one for
each block and all of them alike, is dominated by the run (docs/gram.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["Blocks", "block_lengths", "block_shifts"]

# Shifts are reduced by this much, relatively: more than they are off by rounding.
MARGIN = 1e-12


class Blocks(NamedTuple):
    """So many blocks with the same shifts; the other bins, a share of all, say nothing."""

    shifts: FloatArray
    blocks: int
    share: float


def block_shifts(kernel: FloatArray, length: int) -> Blocks:
    """Blocks of so many neighbours, without those that would make all shifts smaller.

    The order within a block does not matter, so shifts are sorted before they are compared. A bin
    that is left out has the likelihood ratio 1, its mean: a smaller one in convex order.
    """
    bins = kernel.shape[0]
    whole = bins // length
    cut = kernel[: whole * length, : whole * length].reshape(whole, length, whole, length)
    each = np.arange(whole)
    rows = cut[each, :, each, :].sum(axis=2)
    totals = rows.sum(axis=1)
    lengths = np.sqrt(totals)[:, None]
    # A block without any signal has no direction, and no shift.
    shifts = np.sort(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), axis=1)
    order = np.argsort(-totals, kind="stable")
    least = np.minimum.accumulate(shifts[order], axis=0)
    # At high noise the mean of all shifts decides, of which bins that are left out have none.
    kept = int((least.sum(axis=1) * np.arange(1, whole + 1)).argmax()) + 1
    return Blocks(np.maximum(least[kept - 1], 0.0) * (1 - MARGIN), kept, kept * length / bins)


def block_lengths(bins: int) -> list[int]:
    """Powers of two, and all bins."""
    return [*(2**i for i in range(math.ceil(math.log2(bins)))), bins]
