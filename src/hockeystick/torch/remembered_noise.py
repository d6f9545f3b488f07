"""Remembered noise of coordinates: in pieces that know their place, with a checksum.

Neither depends on who holds which coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numba import njit

from hockeystick.torch.layouts import Ranges

__all__ = ["memory_checksum", "memory_of", "memory_pieces", "place_of"]

# Two sums with independent hashes: 128 bits.
SEEDS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))


def memory_pieces(memory: torch.Tensor, ranges: Ranges) -> dict[str, torch.Tensor]:
    """Copies of the rows, in pieces of adjacent coordinates; the name of a piece is its place."""
    pieces: dict[str, torch.Tensor] = {}
    done = 0
    for start, stop in (_joined(ranges) or [(0, 0)]) if len(memory) else []:
        columns = memory[:, done : done + stop - start]
        pieces[f"{start}:{stop}"] = columns.clone(memory_format=torch.contiguous_format)
        done += stop - start
    return pieces


def memory_of(pieces: Mapping[str, torch.Tensor], ranges: Ranges, like: torch.Tensor) -> Any:
    """The rows of the coordinates in the ranges, from pieces that cover them.

    `like` says how many rows there can be, and their type. `ValueError` if a coordinate is missing.
    """
    if not pieces:
        return like[:0]
    rows = {(len(piece), piece.dtype) for piece in pieces.values()}
    ((count, dtype),) = rows
    found = torch.empty(count, sum(stop - start for start, stop in ranges), dtype=dtype)
    filled = done = 0
    for start, stop in ranges:
        for name, piece in pieces.items():
            first, last = place_of(name)
            low, high = max(first, start), min(last, stop)
            if low < high:
                place = done - start
                found[:, place + low : place + high] = piece[:, low - first : high - first]
                filled += high - low
        done += stop - start
    if filled != done:
        raise ValueError("coordinates are missing, or twice there")
    return found


def place_of(name: str) -> tuple[int, int]:
    """The coordinates of a piece."""
    start, stop = name.split(":")
    return int(start), int(stop)


def memory_checksum(memory: torch.Tensor, ranges: Ranges) -> torch.Tensor:
    """Sums over rows and coordinates of a hash of place and value; add up those of all ranks.

    Sums modulo 2^64 are the same however the coordinates are shared out. They notice damage, not
    intent, like the digests of other states. One pass over the memory.
    """
    bits = memory.cpu().contiguous().numpy()
    words = bits.view(np.uint32 if bits.dtype.itemsize == 4 else np.uint64)
    places = np.concatenate(
        [np.arange(start, stop, dtype=np.uint64) for start, stop in ranges]
        or [np.empty(0, dtype=np.uint64)]
    )
    own = np.array([_hashed_sum(words, places, seed) for seed in SEEDS], dtype=np.uint64)
    return torch.from_numpy(own.view(np.int64))


def _joined(ranges: Ranges) -> Ranges:
    """The same coordinates in as few ranges as possible."""
    found: Ranges = []
    for start, stop in ranges:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        elif start < stop:
            found.append((start, stop))
    return found


@njit(cache=True, nogil=True)
def _hashed_sum(words: Any, places: Any, seed: Any) -> Any:
    """The sum of mixed words; the constants are those of splitmix64, a mixer of 64-bit words."""
    total = np.uint64(0)
    for i in range(words.shape[0]):
        for k in range(words.shape[1]):
            z = (places[k] * np.uint64(0x9E3779B97F4A7C15)) ^ (seed + np.uint64(i))
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z ^= np.uint64(words[i, k])
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total += z ^ (z >> np.uint64(31))
    return total
