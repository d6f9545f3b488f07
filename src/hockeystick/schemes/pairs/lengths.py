"""Many different lengths, as few that are not smaller."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["counted_lengths"]

# More different lengths than these are rounded up, to the next of a geometric grid.
MOST_LENGTHS = 16


def counted_lengths(lengths: FloatArray) -> tuple[dict[float, int], bool]:
    """How often each length occurs, and whether none was rounded up. All are positive."""
    exact = np.unique(lengths).size <= MOST_LENGTHS
    if not exact:
        grid = np.geomspace(lengths.min(), lengths.max(), MOST_LENGTHS)
        grid[-1] = lengths.max()
        lengths = grid[np.searchsorted(grid, lengths)]
    values, counts = np.unique(lengths, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True)), exact
