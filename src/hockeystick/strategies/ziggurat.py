"""Standard normal numbers in single precision, in a loop that processors can do several at a time.

The ziggurat of Marsaglia and Tsang (2000): the half of the bell is covered by 256 layers of equal
area, all but the lowest a rectangle. A 32-bit word chooses a layer (8 bits), a sign (1 bit) and one
of 2^23 places across the layer. Nearly all places lie under the curve for certain and are the
answer; the rest are settled one at a time with random numbers of double precision. The law is the
normal one, tails included, on a grid of places that is finer than 5e-7; zero has no place.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["fill_standard_normal"]

LAYERS, PLACES = 256, 2**23
# Where the lowest layer's rectangle ends and the tail begins, for 256 layers.
TAIL = 3.6541528853610088
# Numbers that are drawn at a time, so that the marks of the unsettled ones stay in the cache.
BLOCK = 1024


def _density(x: float) -> float:
    """The bell, with height 1."""
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
# Half the width of a place: the middle of place m is (2 m + 1) times this, exact until scaled.
_HALF_PLACE = (_EDGES[1:] / (2.0 * PLACES)).astype(np.float32)
# Places below this one lie under the curve, whatever the height.
_SETTLED = np.floor(_EDGES[:-1] / _EDGES[1:] * PLACES).astype(np.int32)
_HEIGHTS = np.array([_density(edge) for edge in _EDGES[:-1]] + [0.0])


@njit(cache=True, nogil=True)
def fill_standard_normal(
    row: NDArray[np.float32], words: NDArray[np.uint32], rng: np.random.Generator
) -> None:
    """Independent standard normal numbers, one for each random word; `rng` settles the rare cases.

    Nobody else may draw from `rng` meanwhile: its lock is not taken.
    """
    unsettled = np.empty(BLOCK, np.uint8)
    for start in range(0, row.size, BLOCK):
        numbers, chosen = row[start : start + BLOCK], words[start : start + BLOCK]
        for k in range(numbers.size):
            layer, place = chosen[k] & np.uint32(255), np.int32(chosen[k] >> np.uint32(9))
            size = np.float32(2 * place + 1) * _HALF_PLACE[layer]
            unsettled[k] = place >= _SETTLED[layer]
            numbers[k] = -size if chosen[k] & np.uint32(256) else size
        for k in range(numbers.size):
            if unsettled[k]:
                size = _settle(chosen[k] & np.uint32(255), abs(numbers[k]), rng)
                numbers[k] = -size if numbers[k] < 0.0 else size


@njit(cache=True, nogil=True)
def _settle(layer: int, size: float, rng: np.random.Generator) -> float:
    """The number itself if it lies under the curve, otherwise another one; without its sign."""
    if layer == LAYERS - 1:
        return _beyond(rng)
    low, high = _HEIGHTS[layer + 1], _HEIGHTS[layer]
    if low + (high - low) * rng.random() < math.exp(-size * size / 2.0):
        return size
    return abs(rng.standard_normal())


@njit(cache=True, nogil=True)
def _beyond(rng: np.random.Generator) -> float:
    """A number from the tail: exponential beyond its beginning, thinned to the bell."""
    while True:
        over = -math.log1p(-rng.random()) / TAIL
        if -2.0 * math.log1p(-rng.random()) > over * over:
            return TAIL + over
