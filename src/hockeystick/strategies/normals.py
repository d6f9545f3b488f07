"""Independent standard normal numbers for the rows of a noise stream, each at its own place.

The number at coordinate i of row t follows from the key, i and t alone, by the ChaCha block
function (`chacha`) and the Box-Muller transform [BoxMuller58]: two random words u, v become
sqrt(-2 ln u) cos(2 pi v) and sqrt(-2 ln u) sin(2 pi v). It has no rejection, so that many numbers
are computed at a time, and only arithmetic that is the same on every machine.

Single precision takes words of 32 bits, double precision of 64. A small u is the far tail, where
words are too coarse: it gets 64 further bits. So the law is the normal one up to 11.5 standard
deviations (single) and 13.3 (double); less than 2^-96 lies beyond. Rounding changes a pair by at
most 3e-7 (single) and 1e-15 (double) of its length.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.chacha import LANES, WORDS, Words, random_words
from hockeystick._numerics.law import FloatArray

__all__ = ["TILE", "fill_combination", "fill_normal", "fill_row", "largest"]

# Words of the blocks that are computed together; as many single or half as many double numbers.
TILE = LANES * WORDS
# Rows of further bits: no stream has so many steps.
FURTHER = 2**62
# Below these, words are refined: one of 65,536, and one of 2^32.
RARE_SINGLE, RARE_DOUBLE = np.uint32(2**16), np.uint64(2**32)
HALF, ONE, TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)
MINUS_2_LN2 = np.float32(-2.0 * math.log(2.0))
# Of a full turn: the value of the lowest bit of an angle.
TURN = np.float32(2.0 * math.pi / 2.0**32)
WIDE_TURN = 2.0 * math.pi / 2.0**64
WIDE_LN2 = math.log(2.0)
# Bits of the largest single and double number below sqrt(1/2): mantissas are in [0.707, 1.414).
ROOT_SINGLE = np.uint32(np.float32(math.sqrt(0.5)).view(np.uint32))
ROOT_DOUBLE = np.uint64(np.float64(math.sqrt(0.5)).view(np.uint64))
# Above three quarters of their range words are near 1 and their complements have all the digits.
NEAR_SINGLE, NEAR_DOUBLE = np.uint32(3 * 2**30), np.uint64(3 * 2**62)
# sin and cos on [-pi/4, pi/4] in single precision: nearly the best polynomials of these degrees.
S3, S5, S7 = np.float32(-1.6666654611e-1), np.float32(8.3321608736e-3), np.float32(-1.9515295891e-4)
C4, C6, C8 = np.float32(4.166664568e-2), np.float32(-1.388731625e-3), np.float32(2.443315711e-5)
# 1 / n!, for the series of sin and cos in double precision; what is left out is below 3e-18.
F3, F4, F5, F6, F7, F8, F9, F10 = (1 / math.factorial(n) for n in range(3, 11))
F11, F12, F13, F14, F15, F16, F17 = (1 / math.factorial(n) for n in range(11, 18))
# -2 ln((1 + t) / (1 - t)) / t by its series in t^2; |t| < 0.172, and five terms leave below 1e-8.
M1, M3, M5, M7, M9 = (np.float32(-4.0 / n) for n in (1, 3, 5, 7, 9))


def fill_normal(row: NDArray[Any], start: int, head: Words, *, step: int, rounds: int) -> None:
    """The numbers of row `step` at the coordinates from `start` on, in single or double precision.

    Parameters
    ----------
    row
        Where they go.
    start
        The first coordinate.
    head
        Of the key (`chacha.cipher_head`).
    step
        The row of Z.
    rounds
        8 or 20.
    """
    fill_row(row, start, head, step, rounds)


def fill_combination(
    row: NDArray[Any],
    start: int,
    head: Words,
    *,
    step: int,
    rounds: int,
    factors: FloatArray,
    scale: float,
) -> None:
    """The sum over j of scale factors_j times row step - j of Z: rows are drawn again.

    In double precision, in the order of j, as a stream does that remembers them; rows before the
    first are zero.
    """
    # A copy: for an array that cannot be written to, the kernel would be compiled once more.
    _combine(row, start, head, step, rounds, factors[: step + 1].copy(), scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _single_pairs(cosines: Any, sines: Any, radii: Words, angles: Words) -> Any:
    """Box-Muller for u = (radius + 1/2) / 2^32 and v = angle / 2^32; the least radius."""
    least = np.uint32(2**32 - 1)
    for i in range(radii.size):
        k, v = radii[i], angles[i]
        least = min(least, k)
        # u 2^32 = (1 + f) 2^e.
        bits = np.float32(np.float32(k) + HALF).view(np.uint32)
        e = np.int32(np.uint32(bits - ROOT_SINGLE)) >> np.int32(23)
        f = np.uint32(bits - np.uint32(np.uint32(e) << np.uint32(23))).view(np.float32) - ONE
        near = -(np.float32(np.uint32(~k)) + HALF) * np.float32(2.0**-32)
        f = near if k >= NEAR_SINGLE else f
        t = f / (TWO + f)
        w = t * t
        series = t * (M1 + w * (M3 + w * (M5 + w * (M7 + w * M9))))
        r = np.sqrt(np.float32(e - np.int32(32)) * MINUS_2_LN2 + series)
        # v is a number of quarter turns, the two highest bits of q, and an angle in [-pi/4, pi/4).
        q = np.uint32(v + np.uint32(2**29))
        x = np.float32(np.int32(np.uint32(v - np.uint32(q & np.uint32(3 * 2**30))))) * TURN
        w = x * x
        s = x + x * w * (S3 + w * (S5 + w * S7))
        c = ONE - HALF * w + w * w * (C4 + w * (C6 + w * C8))
        odd = np.uint32(q & np.uint32(2**30)) != np.uint32(0)
        a = s if odd else c
        b = c if odd else s
        cosines[i] = r * _signed(a, np.uint32(q + np.uint32(2**30)))
        sines[i] = r * _signed(b, q)
    return least


@njit(cache=True, forceinline=True)
def _signed(x: Any, sign: Any) -> Any:
    """-x if the highest bit of the word is set."""
    bits = np.float32(x).view(np.uint32)
    return np.uint32(bits ^ np.uint32(sign & np.uint32(2**31))).view(np.float32)


@njit(cache=True, forceinline=True)
def _series(w: float) -> float:
    """ln((1 + t) / (1 - t)) / t for w = t^2 < 0.0295: eleven terms leave less than 1e-18."""
    high = 2 / 13 + w * (2 / 15 + w * (2 / 17 + w * (2 / 19 + w * (2 / 21))))
    return 2.0 + w * (2 / 3 + w * (2 / 5 + w * (2 / 7 + w * (2 / 9 + w * (2 / 11 + w * high)))))


@njit(cache=True, forceinline=True)
def _sine(w: float) -> float:
    """sin(x) / x for w = x^2 < 0.617, by its series to x^16."""
    high = F9 - w * (F11 - w * (F13 - w * (F15 - w * F17)))
    return 1.0 - w * (F3 - w * (F5 - w * (F7 - w * high)))


@njit(cache=True, forceinline=True)
def _cosine(w: float) -> float:
    """cos(x) for w = x^2 < 0.617, by its series to x^16."""
    high = F8 - w * (F10 - w * (F12 - w * (F14 - w * F16)))
    return 1.0 - w * (0.5 - w * (F4 - w * (F6 - w * high)))


@njit(cache=True, nogil=True, error_model="numpy")
def _double_pairs(cosines: Any, sines: Any, words: Words) -> Any:
    """The same with words of 64 bits, each made of two; the least radius."""
    least = np.uint64(2**64 - 1)
    count = words.size // 4
    for i in range(count):
        k = np.uint64(words[i]) | np.uint64(words[i + count]) << np.uint64(32)
        v = np.uint64(words[i + 2 * count]) | np.uint64(words[i + 3 * count]) << np.uint64(32)
        least = min(least, k)
        bits = np.float64(np.float64(k) + 0.5).view(np.uint64)
        e = np.int64(np.uint64(bits - ROOT_DOUBLE)) >> np.int64(52)
        f = np.uint64(bits - np.uint64(np.uint64(e) << np.uint64(52))).view(np.float64) - 1.0
        near = -(np.float64(np.uint64(~k)) + 0.5) * 2.0**-64
        f = near if k >= NEAR_DOUBLE else f
        t = f / (2.0 + f)
        r = np.sqrt(-2.0 * (np.float64(e - np.int64(64)) * WIDE_LN2 + t * _series(t * t)))
        q = np.uint64(v + np.uint64(2**61)) >> np.uint64(62)
        x = np.float64(np.int64(np.uint64(v - np.uint64(q << np.uint64(62))))) * WIDE_TURN
        s, c = x * _sine(x * x), _cosine(x * x)
        odd = np.uint64(q & np.uint64(1)) == np.uint64(1)
        a = s if odd else c
        b = c if odd else s
        cosines[i] = r * (-a if np.uint64(q + np.uint64(1)) & np.uint64(2) else a)
        sines[i] = r * (-b if q & np.uint64(2) else b)
    return least


@njit(cache=True, nogil=True, error_model="numpy")
def _draw(numbers: Any, words: Any, head: Words, tile: int, step: int, rounds: int) -> None:
    """All numbers of a tile of a row; `words` is scratch space for two times the words of it."""
    random_words(words[0], head, tile, step, rounds)
    flat = words[0].reshape(TILE)
    half = numbers.size // 2
    if numbers.size == TILE:
        least = _single_pairs(numbers[:half], numbers[half:], flat[:half], flat[half:])
        rare = least < RARE_SINGLE
    else:
        rare = _double_pairs(numbers[:half], numbers[half:], flat) < RARE_DOUBLE
    if rare:
        random_words(words[1], head, tile, step | FURTHER, rounds)
        _refine(numbers, flat, words[1])


@njit(cache=True, nogil=True, error_model="numpy")
def _refine(numbers: Any, words: Words, further: Any) -> None:
    """Pairs in the far tail once more, with 64 further bits behind those of u."""
    half = numbers.size // 2
    single = numbers.size == TILE
    for i in range(half):
        high, angle, size = np.float64(words[i]), np.float64(words[i + half]), 2.0**-32
        if single:
            rare = words[i] < RARE_SINGLE
        else:
            rare = words[i + half] == 0
            angle = np.float64(words[i + 2 * half]) * size + np.float64(words[i + 3 * half])
            size = 2.0**-64
        if rare:
            lane, pair = i % LANES, i // LANES
            low = np.float64(further[2 * pair, lane]) + 0.5
            low = low * 2.0**-32 + np.float64(further[2 * pair + 1, lane])
            r = math.sqrt(-2.0 * math.log((high + low * 2.0**-32) * size))
            turn = angle * (2.0 * math.pi / 2.0**32)
            numbers[i], numbers[i + half] = r * math.cos(turn), r * math.sin(turn)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_row(row: Any, start: int, head: Words, step: int, rounds: int) -> None:
    """`fill_normal`, for compiled kernels."""
    size = TILE * 4 // row.itemsize
    words, whole = np.empty((2, WORDS, LANES), np.uint32), np.empty(size, row.dtype)
    done = 0
    while done < row.size:
        tile, offset = divmod(start + done, size)
        count = min(size - offset, row.size - done)
        if count == size:
            _draw(row[done : done + size], words, head, tile, step, rounds)
        else:
            _draw(whole, words, head, tile, step, rounds)
            for k in range(count):
                row[done + k] = whole[offset + k]
        done += count


@njit(cache=True, nogil=True, error_model="numpy")
def _combine(
    row: Any,
    start: int,
    head: Words,
    step: int,
    rounds: int,
    factors: FloatArray,
    scale: float,
) -> None:
    size = TILE * 4 // row.itemsize
    words, some = np.empty((2, WORDS, LANES), np.uint32), np.zeros((4, size), row.dtype)
    total = np.empty(size)
    done = 0
    while done < row.size:
        tile, offset = divmod(start + done, size)
        count = min(size - offset, row.size - done)
        total[:] = 0.0
        for first in range(0, factors.size, 4):
            for lag in range(first, min(first + 4, factors.size)):
                _draw(some[lag - first], words, head, tile, step - lag, rounds)
            if first + 4 < factors.size or count < size:
                _add(total, total, some, factors, first, 1.0)
            else:
                _add(row[done : done + size], total, some, factors, first, scale)
        if count < size:
            for k in range(count):
                row[done + k] = scale * total[offset + k]
        done += count


@njit(cache=True, nogil=True, error_model="numpy")
def _add(
    out: Any, total: FloatArray, some: Any, factors: FloatArray, first: int, scale: float
) -> None:
    """scale (total + up to four rows), at a time: sums stay in registers."""
    left = factors.size - first
    fa = factors[first]
    fb = factors[first + 1] if left > 1 else 0.0
    fc = factors[first + 2] if left > 2 else 0.0
    fd = factors[first + 3] if left > 3 else 0.0
    a, b, c, d = some[0], some[1], some[2], some[3]
    for k in range(total.size):
        out[k] = scale * (total[k] + fa * a[k] + fb * b[k] + fc * c[k] + fd * d[k])


def largest(numbers: NDArray[Any]) -> float:
    """The largest absolute value in a row of single or double precision; NaN if one is NaN.

    By the bits without their sign, which are in the order of the absolute values, NaN last.
    """
    kind, mask = (np.int32, 2**31 - 1) if numbers.itemsize == 4 else (np.int64, 2**63 - 1)
    found = np.array(_largest_bits(numbers.view(kind), kind(mask)), kind)
    return float(found.view(numbers.dtype))


@njit(cache=True, nogil=True, error_model="numpy")
def _largest_bits(bits: Any, mask: Any) -> Any:
    top = mask & 0
    for k in range(bits.size):
        top = max(top, bits[k] & mask)
    return top
