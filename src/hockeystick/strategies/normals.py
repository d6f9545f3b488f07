"""Independent standard normal numbers for the rows of a noise stream.

Double precision is NumPy's. Single precision is drawn by the ziggurat method [MarsagliaTsang00] in
a vectorised loop: half of the density is covered by 256 layers of equal area, all but the lowest a
rectangle. A 32-bit word chooses a layer (8 bits), a sign (1 bit) and one of 2^23 cells across the
layer. Nearly all cells lie under the curve for certain and are accepted; the others are decided one
at a time with random numbers of double precision. The law is the normal one, tails included, on a
grid of cells that is finer than 5e-7; zero is not on the grid.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["fill_normal"]

# 8 and 23 of the 32 bits of a word; the remaining bit is the sign.
LAYERS, CELLS = 256, 2**23
# Where the lowest layer's rectangle ends and the tail begins: for 256 layers the only value with
# which all areas are equal [MarsagliaTsang00].
TAIL = 3.6541528853610088
# Numbers that are drawn at a time: the marks of the undecided ones stay in the first-level cache.
BLOCK = 1024


def fill_normal(row: NDArray[Any], generator: np.random.Generator) -> None:
    """Fill a row of single or double precision; what is drawn follows from the generator alone.

    Single precision takes less than half of NumPy's time: it uses random words, 64 bits for two
    numbers, with the same resolution.
    """
    if row.dtype == np.float64:
        generator.standard_normal(out=row)
        return
    pairs = generator.integers(2**64, size=(row.size + 1) // 2, dtype=np.uint64)
    _fill_single(row, pairs.view(np.uint32), generator)


def _density(x: float) -> float:
    """The normal density, scaled to height 1."""
    return math.exp(-x * x / 2.0)


def _edges() -> FloatArray:
    """How far the layers reach, from the top (0) to the lowest, whose area includes the tail."""
    tail = math.sqrt(math.pi / 2.0) * math.erfc(TAIL / math.sqrt(2.0))
    area = TAIL * _density(TAIL) + tail
    edges = np.zeros(LAYERS + 1)
    edges[LAYERS], edges[LAYERS - 1] = area / _density(TAIL), TAIL
    for i in range(LAYERS - 2, 0, -1):
        edges[i] = math.sqrt(-2.0 * math.log(area / edges[i + 1] + _density(edges[i + 1])))
    return edges


_EDGES = _edges()
# Half the width of a cell: the middle of cell m is (2 m + 1) times this, exact until scaled.
_HALF_CELL = (_EDGES[1:] / (2.0 * CELLS)).astype(np.float32)
# Cells below this one lie under the curve at every height.
_ACCEPTED = np.floor(_EDGES[:-1] / _EDGES[1:] * CELLS).astype(np.int32)
# Of the density at the edges; the tail goes down to zero.
_HEIGHTS = np.array([_density(edge) for edge in _EDGES[:-1]] + [0.0])


@njit(cache=True, nogil=True)
def _fill_single(
    row: NDArray[np.float32], words: NDArray[np.uint32], rng: np.random.Generator
) -> None:
    """Independent standard normal numbers, one for each random word; `rng` decides the rare cases.

    The lock of `rng` is not taken: no other thread may draw from it meanwhile.
    """
    undecided = np.empty(BLOCK, np.uint8)
    for start in range(0, row.size, BLOCK):
        numbers, chosen = row[start : start + BLOCK], words[start : start + BLOCK]
        for k in range(numbers.size):
            layer, cell = chosen[k] & np.uint32(255), np.int32(chosen[k] >> np.uint32(9))
            size = np.float32(2 * cell + 1) * _HALF_CELL[layer]
            undecided[k] = cell >= _ACCEPTED[layer]
            numbers[k] = -size if chosen[k] & np.uint32(256) else size
        for k in range(numbers.size):
            if undecided[k]:
                size = _decide(chosen[k] & np.uint32(255), abs(numbers[k]), rng)
                numbers[k] = -size if numbers[k] < 0.0 else size


@njit(cache=True, nogil=True)
def _decide(layer: int, size: float, rng: np.random.Generator) -> float:
    """The number itself if it lies under the curve, otherwise another one; without its sign."""
    if layer == LAYERS - 1:
        return _from_tail(rng)
    low, high = _HEIGHTS[layer + 1], _HEIGHTS[layer]
    if low + (high - low) * rng.random() < math.exp(-size * size / 2.0):
        return size
    return abs(rng.standard_normal())


@njit(cache=True, nogil=True)
def _from_tail(rng: np.random.Generator) -> float:
    """A number from the tail: exponential beyond its beginning, thinned by rejection."""
    while True:
        over = -math.log1p(-rng.random()) / TAIL
        if -2.0 * math.log1p(-rng.random()) > over * over:
            return TAIL + over
