"""ChaCha20: the cryptographic keystream of RFC 8439 [NirLangley18], many blocks at a time.

A block of 16 words of 32 bits follows from a key of 256 bits and four words that say where it is.
Nobody who does not know the key can tell the words from random ones, as far as is known: blocks of
different places are independent to everyone else, and any of them can be computed at any time.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["BLOCK_WORDS", "chacha20_blocks", "initial_words"]

Words = NDArray[np.uint32]
# Words in a block, and double rounds: twenty rounds.
BLOCK_WORDS, DOUBLE_ROUNDS = 16, 10
# The words of "expand 32-byte k", which RFC 8439 puts in front of the key.
CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)
# The rows that the quarter rounds of a double round mix: columns first, then diagonals.
QUARTERS = np.array(
    [
        *([i, 4 + i, 8 + i, 12 + i] for i in range(4)),
        *([i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4] for i in range(4)),
    ]
)


def initial_words(key: tuple[int, int, int, int]) -> Words:
    """The state for a key of four words of 64 bits; the last four of its words are the place."""
    state = np.zeros(BLOCK_WORDS, np.uint32)
    state[:4] = CONSTANTS
    state[4:12] = np.array(key, dtype="<u8").view("<u4")
    return state


@njit(cache=True, nogil=True)
def chacha20_blocks(state: Words, counters: Words, out: Words) -> None:
    """Blocks of the keystream, one in each column of `out`: the counter is in the place of word 12.

    In columns, so that a quarter round is one vectorised loop over all blocks.
    """
    count = out.shape[1]
    for j in range(16):
        for k in range(count):
            out[j, k] = state[j]
    for k in range(count):
        out[12, k] = counters[k]
    for _ in range(DOUBLE_ROUNDS):
        for q in range(8):
            a, b, c, d = QUARTERS[q]
            _quarter_round(out[a], out[b], out[c], out[d])
    for j in range(16):
        if j == 12:
            for k in range(count):
                out[j, k] = np.uint32(out[j, k] + counters[k])
        else:
            for k in range(count):
                out[j, k] = np.uint32(out[j, k] + state[j])


@njit(cache=True, nogil=True)
def _quarter_round(a: Words, b: Words, c: Words, d: Words) -> None:
    for k in range(a.size):
        p, q, r, s = a[k], b[k], c[k], d[k]
        p = np.uint32(p + q)
        s = np.uint32(s ^ p)
        s = np.uint32((s << np.uint32(16)) | (s >> np.uint32(16)))
        r = np.uint32(r + s)
        q = np.uint32(q ^ r)
        q = np.uint32((q << np.uint32(12)) | (q >> np.uint32(20)))
        p = np.uint32(p + q)
        s = np.uint32(s ^ p)
        s = np.uint32((s << np.uint32(8)) | (s >> np.uint32(24)))
        r = np.uint32(r + s)
        q = np.uint32(q ^ r)
        q = np.uint32((q << np.uint32(7)) | (q >> np.uint32(25)))
        a[k], b[k], c[k], d[k] = p, q, r, s
