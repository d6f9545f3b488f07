"""Random words at any place: the ChaCha block function [Bernstein08], many blocks at a time.

A block is 16 words of 32 bits. It follows from a key of 256 bits and four words that say where it
is. Whoever does not have the key cannot tell blocks from random words, and blocks at different
places have nothing to do with each other. With 20 rounds it is the cipher that the internet uses;
the best attacks that are known reach 7 rounds, and 8 are enough for noise that has to be fast.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["LANES", "WORDS", "Words", "chosen_blocks", "cipher_head", "random_words"]

Words: TypeAlias = NDArray[np.uint32]

# Words of a block.
WORDS = 16
# Blocks that are computed together: four of the widest registers, and 4 kilobytes of words.
LANES = 64
# The first four words of every block are fixed [Bernstein08].
CONSTANTS = b"expand 32-byte k"


def cipher_head(secret: bytes) -> Words:
    """The first twelve words of a block: constants and the key of 32 bytes."""
    return np.frombuffer(CONSTANTS + secret, dtype="<u4").astype(np.uint32)


@njit(cache=True, forceinline=True)
def _rotated(x: Any, bits: int) -> Any:
    return np.uint32((x << np.uint32(bits)) | (x >> np.uint32(32 - bits)))


@njit(cache=True, forceinline=True)
def _quarter(a: Any, b: Any, c: Any, d: Any) -> Any:
    a = np.uint32(a + b)
    d = _rotated(np.uint32(d ^ a), 16)
    c = np.uint32(c + d)
    b = _rotated(np.uint32(b ^ c), 12)
    a = np.uint32(a + b)
    d = _rotated(np.uint32(d ^ a), 8)
    c = np.uint32(c + d)
    b = _rotated(np.uint32(b ^ c), 7)
    return a, b, c, d


@njit(cache=True, forceinline=True)
def _two_rounds(x: Any) -> Any:
    """One round over columns and one over diagonals."""
    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = x
    a0, b0, c0, d0 = _quarter(a0, b0, c0, d0)
    a1, b1, c1, d1 = _quarter(a1, b1, c1, d1)
    a2, b2, c2, d2 = _quarter(a2, b2, c2, d2)
    a3, b3, c3, d3 = _quarter(a3, b3, c3, d3)
    a0, b1, c2, d3 = _quarter(a0, b1, c2, d3)
    a1, b2, c3, d0 = _quarter(a1, b2, c3, d0)
    a2, b3, c0, d1 = _quarter(a2, b3, c0, d1)
    a3, b0, c1, d2 = _quarter(a3, b0, c1, d2)
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@njit(cache=True, forceinline=True)
def _stored(out: Any, i: int, x: Any, y: Any) -> None:
    """Word by word the sum of what the rounds were given and what they made of it."""
    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = x
    e0, e1, e2, e3, f0, f1, f2, f3, g0, g1, g2, g3, h0, h1, h2, h3 = y
    out[0, i], out[1, i] = np.uint32(a0 + e0), np.uint32(a1 + e1)
    out[2, i], out[3, i] = np.uint32(a2 + e2), np.uint32(a3 + e3)
    out[4, i], out[5, i] = np.uint32(b0 + f0), np.uint32(b1 + f1)
    out[6, i], out[7, i] = np.uint32(b2 + f2), np.uint32(b3 + f3)
    out[8, i], out[9, i] = np.uint32(c0 + g0), np.uint32(c1 + g1)
    out[10, i], out[11, i] = np.uint32(c2 + g2), np.uint32(c3 + g3)
    out[12, i], out[13, i] = np.uint32(d0 + h0), np.uint32(d1 + h1)
    out[14, i], out[15, i] = np.uint32(d2 + h2), np.uint32(d3 + h3)


@njit(cache=True, nogil=True, error_model="numpy")
def random_words(out: Words, head: Words, place: int, row: int, rounds: int) -> None:
    """Blocks at (place * LANES + i, row) into the columns i of `out`; 8 rounds, or 20.

    Each loop has no loop inside, so that it is computed for several columns at a time.
    """
    a0, a1, a2, a3 = head[0], head[1], head[2], head[3]
    b0, b1, b2, b3 = head[4], head[5], head[6], head[7]
    c0, c1, c2, c3 = head[8], head[9], head[10], head[11]
    block = np.uint64(place) * np.uint64(LANES)
    # A multiple of LANES: the lower half does not overflow within the loop.
    first, d1 = np.uint32(block), np.uint32(block >> np.uint64(32))
    d2, d3 = np.uint32(row), np.uint32(np.uint64(row) >> np.uint64(32))
    if rounds == 8:
        for i in range(LANES):
            d0 = np.uint32(first + np.uint32(i))
            x = (a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3)
            _stored(out, i, x, _two_rounds(_two_rounds(_two_rounds(_two_rounds(x)))))
    else:
        for i in range(LANES):
            d0 = np.uint32(first + np.uint32(i))
            x = (a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3)
            y = _two_rounds(_two_rounds(_two_rounds(_two_rounds(_two_rounds(x)))))
            y = _two_rounds(_two_rounds(_two_rounds(_two_rounds(_two_rounds(y)))))
            _stored(out, i, x, y)


@njit(cache=True, nogil=True, error_model="numpy")
def chosen_blocks(out: Words, state: Words, counters: Words, rounds: int) -> None:
    """The block of each counter, which takes the place of word 12 of `state`.

    In rows, so that a quarter round is one loop that is computed for several columns at a time.
    """
    for j in range(WORDS):
        for k in range(counters.size):
            out[j, k] = counters[k] if j == 12 else state[j]
    for _ in range(rounds // 2):
        for q in range(4):
            _quarters(out[q], out[4 + q], out[8 + q], out[12 + q])
        for q in range(4):
            _quarters(out[q], out[4 + (q + 1) % 4], out[8 + (q + 2) % 4], out[12 + (q + 3) % 4])
    for j in range(WORDS):
        for k in range(counters.size):
            out[j, k] = np.uint32(out[j, k] + (counters[k] if j == 12 else state[j]))


@njit(cache=True, nogil=True, error_model="numpy")
def _quarters(a: Words, b: Words, c: Words, d: Words) -> None:
    """The quarter round in every column."""
    for k in range(a.size):
        a[k], b[k], c[k], d[k] = _quarter(a[k], b[k], c[k], d[k])
