"""Rounded normal integers: round(2^bits X) for independent standard normal X, with a proven law.

|X| is found in one of 2,048 cells of width 1/128, below 16. Cell i has the weight exp(-i^2/2^15),
the density at its lower end. It is drawn by the alias method, with thresholds of 256 bits. The
place u in the cell is uniform, and (i, u) is accepted with probability
rho = exp(-(2 i u + u^2) / 2^15), the density over that at the lower end: rejection sampling, so
that an accepted |X| = (i + u) / 128 has the normal density. Rounding takes the first binary digits
of u.

Uniform numbers are compared digit by digit, as far as it takes [Karney16]. The first digits, with
tables, decide more than 99 of 100 draws. 64 digits, with rho in floating point to 2^-44, decide
nearly all others, and integers of 256 digits (`undecided`) what is left.

Every number has the law of round(2^bits X) up to a total variation of 2^-188: 2 Q(16) < 2^-188.99
is cut off; the weights of cells are wrong by less than 2^-244 in all; and a comparison that 192
digits of the place do not decide, with a probability below 2^-194, is taken as a refusal. Refusing
one draw in a hundred multiplies the last two by less than 1.02. Beyond that the words of ChaCha20
have to be random.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.chacha20 import chacha20_blocks, initial_words
from hockeystick.strategies.undecided import (
    CELL_BITS,
    CELLS,
    FURTHER_BITS,
    WIDTH_BITS,
    alias_table,
    exact_draw,
)

__all__ = ["LARGEST", "fill_rounded"]

# No |X| is larger: see above.
LARGEST = float(CELLS >> WIDTH_BITS)
# Digits of the first word: cell, sign, 11 of the threshold, 9 of the acceptance.
THRESHOLD_DIGITS, ACCEPT_DIGITS = 11, 9
THRESHOLD_MASK, ACCEPT_MASK = 2**THRESHOLD_DIGITS - 1, 2**ACCEPT_DIGITS - 1
# What comparisons find.
ACCEPTED, REFUSED, UNDECIDED = range(3)
# Numbers that are drawn at a time: their words (24 kB) stay in a first-level cache.
CHUNK = 2048
# Up to this many bits 32 digits of the place in the cell are enough.
NARROW = WIDTH_BITS + 31
# How far, at most, rho in floating point is off: four units of 2^-53 in the exponent, which is at
# most 1/8, and two in its exponential; with a factor of 16 to spare.
MARGIN = 2.0**-44

Words = NDArray[np.uint32]
Integers = NDArray[np.int64]


class _Tables(NamedTuple):
    """For each column of the alias table, and for each cell."""

    heads: NDArray[np.int32]
    aliases: NDArray[np.int32]
    thresholds: NDArray[np.uint64]
    surely: NDArray[np.int32]


@cache
def _tables() -> _Tables:
    """Leading digits of the thresholds, and below which digits a place is accepted for certain."""
    thresholds, aliases = alias_table()
    lowest = [math.exp(-(2 * i + 1) / 2.0**15) for i in range(CELLS)]
    most = 2**64 - 1
    return _Tables(
        np.array([t >> FURTHER_BITS - THRESHOLD_DIGITS for t in thresholds], np.int32),
        np.array(aliases, np.int32),
        np.array([min(t >> FURTHER_BITS - 64, most) for t in thresholds], np.uint64),
        # Rounded down after taking off more than floating point can be wrong by.
        np.array([math.floor(2**ACCEPT_DIGITS * (x - MARGIN)) for x in lowest], np.int32),
    )


def fill_rounded(
    row: Integers,
    key: tuple[int, int, int, int],
    piece: int,
    step: int,
    *,
    bits: int,
    margin: float = MARGIN,
) -> None:
    """Fill the row with round(2^bits X); what is drawn follows from key, piece and step alone.

    `bits` is between 8 and 58. A larger `margin` changes nothing but the time.
    """
    state = initial_words(key)
    state[13], state[14], state[15] = piece, step & 0xFFFFFFFF, step >> 32
    words = 2 if bits <= NARROW else 3
    left = np.empty(row.size, np.int32)
    count = _fill(row, state, bits - WIDTH_BITS, words, margin, left, _tables())
    for place in left[:count]:
        row[place] = exact_draw(state, int(place), bits, words)


@njit(cache=True, nogil=True)
def _fill(
    row: Integers,
    state: Words,
    shift: int,
    words: int,
    margin: float,
    left: NDArray[np.int32],
    tables: _Tables,
) -> int:
    """Fill what can be decided with 64 digits; places of the rest go to `left`."""
    blocks = CHUNK * words // 16
    stream, longer = np.empty((16, blocks), np.uint32), np.empty(16 * CHUNK, np.uint32)
    digits, counters = stream.reshape(words, CHUNK), np.empty(CHUNK, np.uint32)
    pending = np.empty(CHUNK, np.int32)
    count = 0
    for start in range(0, row.size, CHUNK):
        for k in range(blocks):
            counters[k] = np.uint32(start // CHUNK * blocks + k)
        chacha20_blocks(state, counters, stream)
        numbers = row[start : start + CHUNK]
        open_ones = _quick(numbers, digits, shift, pending, tables)
        here, attempt = state.copy(), 0
        while open_ones > 0:
            here[15] = np.uint32(state[15] + (np.uint32(2 * attempt + 1) << np.uint32(16)))
            # Whole vectors of blocks; those without a number are not used.
            padded = min((open_ones + 15) // 16 * 16, CHUNK)
            for k in range(padded):
                counters[k] = np.uint32(start + pending[min(k, open_ones - 1)])
            block = longer[: 16 * padded].reshape(16, padded)
            chacha20_blocks(here, counters, block)
            refused = 0
            for k in range(open_ones):
                i = pending[k]
                if attempt > 0:
                    first, second, third = block[5, k], block[6, k], block[7, k]
                else:
                    first, second = digits[0, i], digits[1, i]
                    third = block[4, k] if words == 2 else digits[words - 1, i]
                decided, number = _longer(block[:, k], first, second, third, shift, margin, tables)
                numbers[i] = number
                if decided == REFUSED:
                    pending[refused] = i
                    refused += 1
                elif decided == UNDECIDED:
                    left[count] = start + i
                    count += 1
            open_ones = refused
            attempt += 1
    return count


@njit(cache=True, nogil=True)
def _quick(
    numbers: Integers,
    digits: Words,
    shift: int,
    pending: NDArray[np.int32],
    tables: _Tables,
) -> Any:
    """Fill the numbers that first digits decide; the places of the others are `pending`."""
    heads, aliases, surely = tables.heads, tables.aliases, tables.surely
    first, second, third = digits[0], digits[1], digits[-1]
    narrow = len(digits) == 2
    count: Any = 0
    for k in range(numbers.size):
        word = first[k]
        column = word >> np.uint32(32 - CELL_BITS)
        threshold = np.int32((word >> np.uint32(ACCEPT_DIGITS)) & np.uint32(THRESHOLD_MASK))
        head = heads[column]
        cell = np.int64(column) if threshold < head else np.int64(aliases[column])
        # The first shift + 1 digits of the place in the cell.
        if narrow:
            place = np.int64(second[k] >> np.uint32(31 - shift))
        else:
            place = np.int64(_pair(second[k], third[k]) >> np.uint64(63 - shift))
        number = (cell << shift) + ((place + 1) >> 1)
        sign = np.int64((word >> np.uint32(20)) & np.uint32(1))
        numbers[k] = (number ^ -sign) + sign
        pending[count] = k
        accept = np.int32(word & np.uint32(ACCEPT_MASK))
        count += np.int64(threshold == head) | np.int64(accept >= surely[cell])
    return count


@njit(cache=True, nogil=True)
def _longer(
    block: Words,
    first: np.uint32,
    second: np.uint32,
    third: np.uint32,
    shift: int,
    margin: float,
    tables: _Tables,
) -> tuple[int, Any]:
    """Whether 64 digits of everything accept a draw, refuse it or leave it open; the number."""
    column = first >> np.uint32(32 - CELL_BITS)
    digits = np.uint64((first >> np.uint32(ACCEPT_DIGITS)) & np.uint32(THRESHOLD_MASK))
    threshold = (digits << np.uint64(53)) | (_pair(block[0], block[1]) >> np.uint64(11))
    digits = np.uint64(first & np.uint32(ACCEPT_MASK))
    accept = (digits << np.uint64(55)) | (_pair(block[2], block[3]) >> np.uint64(9))
    place = _pair(second, third)
    if threshold == tables.thresholds[column]:
        return UNDECIDED, 0
    below = threshold < tables.thresholds[column]
    cell = np.int64(column) if below else np.int64(tables.aliases[column])
    u = np.float64(place) * 2.0**-64
    rho = math.exp(-u * (2.0 * cell + u) * 2.0**-15)
    difference = np.float64(accept) * 2.0**-64 - rho
    if abs(difference) <= margin:
        return UNDECIDED, 0
    if difference > 0.0:
        return REFUSED, 0
    number = (cell << shift) + ((np.int64(place >> np.uint64(63 - shift)) + 1) >> 1)
    return ACCEPTED, (-number if (first >> np.uint32(20)) & np.uint32(1) else number)


@njit(cache=True, nogil=True)
def _pair(high: np.uint32, low: np.uint32) -> np.uint64:
    return (np.uint64(high) << np.uint64(32)) | np.uint64(low)
