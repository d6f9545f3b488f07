"""Rounded normal numbers in integers of any length: the tables, and what short numbers leave open.

`exact_draw` is the whole method of `rounded_normals` for a single number, and its reference.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.chacha20 import BLOCK_WORDS, chacha20_blocks

__all__ = ["CELLS", "CELL_BITS", "FURTHER_BITS", "WIDTH_BITS", "alias_table", "exact_draw"]

# Cells of width 2^-7 below 16: beyond are 2^-188.98 of the mass.
CELL_BITS, WIDTH_BITS = 11, 7
CELLS = 2**CELL_BITS
# Digits of thresholds and of the numbers that are compared with them.
FURTHER_BITS = 256
# Digits of fixed-point numbers, and terms of the exponential series: the 60th term of exp(-1/8) is
# below 2^-450.
FIXED, TERMS = 400, 60


@cache
def alias_table() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Thresholds out of 2^256, and the other cell, for each column [Vose91], all in integers.

    Column c is cell c with probability threshold / 2^256, and otherwise the other one. Cell i has
    the weight exp(-i^2 / 2^15) up to 2^-244 of the sum.
    """
    whole, unit = 1 << FURTHER_BITS, 1 << FIXED
    weights = [unit]
    for i in range(CELLS - 1):
        # exp(-(i+1)^2 / 2^15) from exp(-i^2 / 2^15).
        weights.append(weights[-1] * exponential((2 * i + 1) * unit >> 15) >> FIXED)
    total = sum(weights)
    masses = [w * whole * CELLS // total for w in weights]
    masses[0] += whole * CELLS - sum(masses)
    aliases = list(range(CELLS))
    small = [i for i in range(CELLS) if masses[i] < whole]
    large = [i for i in range(CELLS) if masses[i] >= whole]
    while small and large:
        less, more = small.pop(), large[-1]
        aliases[less] = more
        masses[more] -= whole - masses[less]
        if masses[more] < whole:
            small.append(large.pop())
    return tuple(masses), tuple(aliases)


def exponential(x: int) -> int:
    """exp(-x / 2^400) in units of 2^-400 for 0 <= x <= 2^397, wrong by less than 2^8 units."""
    term = total = 1 << FIXED
    for n in range(1, TERMS):
        term = -(term * x >> FIXED) // n
        total += term
    return total


def exact_draw(state: NDArray[np.uint32], index: int, bits: int, words: int) -> int:
    """Number `index` of the piece that `state` describes: round(2^bits X).

    Compares as many as 256 digits. What they do not decide counts as refused.
    """
    first, second, third = _first_words(state, index, words)
    attempt = 0
    while True:
        block = _block(state, index, 2 * attempt + 1)
        further = _block(state, index, 2 * attempt + 2)
        if attempt:
            first, second, third = block[5:8]
        elif words == 2:
            third = block[4]
        sign, column = first >> 20 & 1, first >> 32 - CELL_BITS
        threshold = _digits(first >> 9 & 2047, 11, block[0:2], 53, further[0:6])
        accept = _digits(first & 511, 9, block[2:4], 55, further[6:12])
        place = _joined([second, third, *further[12:16]])
        thresholds, aliases = alias_table()
        cell = column if threshold < thresholds[column] else aliases[column]
        if _accepted(accept, cell, place):
            half = 1 << 191 - bits + WIDTH_BITS
            number = (cell << 192) + place + half >> 192 - bits + WIDTH_BITS
            return -number if sign else number
        attempt += 1


def _accepted(accept: int, cell: int, place: int) -> bool:
    """Whether accept / 2^256, and whatever digits follow, is below rho for certain."""
    # rho decreases with the place, whose further digits are not known: the upper end is taken.
    u = place + 1 << FIXED - 192
    x = u * (2 * cell << FIXED) + u * u >> FIXED + 15
    rho = exponential(x + 1) - 2**8
    return accept + 1 << FIXED - FURTHER_BITS <= rho


def _first_words(state: NDArray[np.uint32], index: int, words: int) -> tuple[int, int, int]:
    """Of the chunk in which the number is drawn."""
    from hockeystick.strategies.rounded_normals import CHUNK

    count = CHUNK * words // BLOCK_WORDS
    counters = np.arange(count, dtype=np.uint32) + np.uint32(index // CHUNK * count)
    stream = np.empty((BLOCK_WORDS, count), np.uint32)
    chacha20_blocks(state, counters, stream)
    rows = stream.reshape(words, CHUNK)[:, index % CHUNK]
    found = [int(word) for word in rows]
    return found[0], found[1], found[2] if words == 3 else 0


def _block(state: NDArray[np.uint32], index: int, use: int) -> list[int]:
    here, block = state.copy(), np.empty((BLOCK_WORDS, 1), np.uint32)
    here[15] = int(state[15]) + (use << 16)
    chacha20_blocks(here, np.array([index], np.uint32), block)
    return [int(word) for word in block[:, 0]]


def _digits(known: int, count: int, pair: list[int], kept: int, further: list[int]) -> int:
    """256 digits: the known ones, the leading ones of a pair of words, and further words."""
    assert count + kept == 64
    return (known << kept | _joined(pair) >> 64 - kept) << 192 | _joined(further)


def _joined(words: Any) -> int:
    found = 0
    for word in words:
        found = found << 32 | word
    return found
