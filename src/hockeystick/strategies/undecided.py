"""Rounded normal numbers in integers of any length: the tables, and what short numbers leave open.

`exact_draw` is the whole method of `rounded_normals` for a single number, and its reference.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.chacha import WORDS, chosen_blocks

__all__ = [
    "CELLS",
    "CELL_BITS",
    "FURTHER_BITS",
    "ROUNDS",
    "VALUE_BITS",
    "WIDTH_BITS",
    "alias_table",
    "exact_draw",
    "exact_value",
]

# Cells of width 2^-7 below 16: beyond are 2^-188.98 of the mass.
CELL_BITS, WIDTH_BITS = 11, 7
CELLS = 2**CELL_BITS
# Of the cipher: ChaCha20, as RFC 8439 has it.
ROUNDS = 20
# Digits of thresholds and of the numbers that are compared with them.
FURTHER_BITS = 256
# Digits of fixed-point numbers, and terms of the exponential series: the 60th term of exp(-1/8) is
# below 2^-450.
FIXED, TERMS = 400, 60
# Digits of `exact_value` beyond 192 in its cell, those of a block, and all after the point.
MORE_DIGITS = 512
VALUE_BITS = WIDTH_BITS + 192 + MORE_DIGITS


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
    sign, cell, place, _ = _drawn(state, index, words)
    half = 1 << 191 - bits + WIDTH_BITS
    number = (cell << 192) + place + half >> 192 - bits + WIDTH_BITS
    return -number if sign else number


def exact_value(state: NDArray[np.uint32], index: int, words: int) -> int:
    """The same X, whose rounding `exact_draw` is, in units of 2^-VALUE_BITS, rounded to zero."""
    sign, cell, place, attempt = _drawn(state, index, words)
    # Digits that nothing else uses: other uses of a place are below 2^15.
    more = _joined(_block(state, index, 2**15 + attempt))
    value = ((cell << 192) + place << MORE_DIGITS) + more
    return -value if sign else value


def _drawn(state: NDArray[np.uint32], index: int, words: int) -> tuple[int, int, int, int]:
    """Sign, cell, 192 digits of the place in the cell, and which attempt was accepted."""
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
            return sign, cell, place, attempt
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

    count = CHUNK * words // WORDS
    # In a chunk the first words of all numbers are one after the other, then the second ones.
    places = [divmod(word * CHUNK + index % CHUNK, count) for word in range(words)]
    begin = index // CHUNK * count
    found = [_block(state, begin + column, 0)[row] for row, column in places]
    return found[0], found[1], found[2] if words == 3 else 0


def _block(state: NDArray[np.uint32], counter: int, use: int) -> list[int]:
    here, block = state.copy(), np.empty((WORDS, 1), np.uint32)
    here[15] = int(state[15]) + (use << 16)
    chosen_blocks(block, here, np.array([counter], np.uint32), ROUNDS)
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
