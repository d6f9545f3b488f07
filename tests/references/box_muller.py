"""Noise by its definition, a number at a time: ChaCha in Python, Box-Muller in many digits."""

from __future__ import annotations

import mpmath

__all__ = ["block", "normal"]

MASK = 2**32 - 1
# Which words of a block a quarter round takes: columns, then diagonals.
QUARTERS = [(i, i + 4, i + 8, i + 12) for i in range(4)]
QUARTERS += [(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12) for i in range(4)]


def block(secret: bytes, place: int, row: int, rounds: int) -> list[int]:
    """The sixteen words of a block."""
    head = b"expand 32-byte k" + secret + place.to_bytes(8, "little") + row.to_bytes(8, "little")
    given = [int.from_bytes(head[i : i + 4], "little") for i in range(0, 64, 4)]
    x = list(given)
    for _ in range(rounds // 2):
        for a, b, c, d in QUARTERS:
            for left, right in ((16, 12), (8, 7)):
                x[a] = (x[a] + x[b]) & MASK
                x[d] = _rotated(x[d] ^ x[a], left)
                x[c] = (x[c] + x[d]) & MASK
                x[b] = _rotated(x[b] ^ x[c], right)
    return [(now + before) & MASK for now, before in zip(x, given, strict=True)]


def normal(secret: bytes, coordinate: int, row: int, *, rounds: int, wide: bool) -> float:
    """The number at a coordinate of a row: sixteen words in each of 64 neighbouring blocks."""
    words = 2 if wide else 1
    tile, inside = divmod(coordinate, 1024 // words)
    number, lane = divmod(inside, 64)
    pairs = 8 // words
    pair, sine = number % pairs, number >= pairs
    found = block(secret, 64 * tile + lane, row, rounds)
    u = sum(found[pair + pairs * i] << 32 * i for i in range(words))
    v = sum(found[pair + pairs * (i + words)] << 32 * i for i in range(words))
    bits = 32 * words
    with mpmath.workdps(40):
        if u < (2**32 if wide else 2**16):
            more = block(secret, 64 * tile + lane, row + 2**62, rounds)
            u = (u << 64) + (more[2 * pair + 1] << 32) + more[2 * pair]
            size = (mpmath.mpf(u) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** (bits + 64)
        else:
            size = (mpmath.mpf(u) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** bits
        angle = 2 * mpmath.pi * mpmath.mpf(v) / mpmath.mpf(2) ** bits
        length = mpmath.sqrt(-2 * mpmath.log(size))
        return float(length * (mpmath.sin(angle) if sine else mpmath.cos(angle)))


def _rotated(x: int, bits: int) -> int:
    return (x << bits | x >> 32 - bits) & MASK
