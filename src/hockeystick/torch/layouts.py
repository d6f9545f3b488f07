"""Layouts: which part of the parameter vector a process sums, adds noise to and updates.

Remembered noise is saved in pieces that know their place, with a checksum. Neither depends on who
holds which coordinates.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
import torch
from numba import njit
from torch import nn

from hockeystick.torch.run_group import RunGroup

__all__ = [
    "Layout",
    "Ranges",
    "ReplicatedLayout",
    "WholeLayout",
    "memory_checksum",
    "memory_of",
    "memory_pieces",
    "place_of",
    "zero_sum",
]

Ranges = list[tuple[int, int]]
# Numbers of a rank that are exchanged at a time (8 MB in double precision).
EXCHANGED = 2**20


class Layout(Protocol):
    """What of the parameter vector is held here.

    Attributes
    ----------
    group
        The ranks of the run; None in a single process.
    sharded
        Whether parameters are sharded, so that passes of the model exchange them.
    ranges
        The coordinates that are held, for each tensor of `held` one range; it may be empty.
    """

    sharded: bool
    ranges: Ranges

    @property
    def group(self) -> RunGroup | None:
        """The ranks of the run."""

    def scattered(self, number: int, total: torch.Tensor) -> torch.Tensor:
        """What is kept of the sum of one parameter, given by its number.

        Called for the same parameters in the same order by all ranks.
        """

    def like(self) -> list[torch.Tensor]:
        """Tensors of the shapes, types and devices of what is held."""

    def zeros(self) -> list[torch.Tensor]:
        """What is kept of the sums of an empty batch."""

    def held(self, sums: list[torch.Tensor]) -> list[torch.Tensor]:
        """The parts of the sum over the ranks that are held here, flat and in double precision.

        The list of whole sums may be emptied.
        """

    def gradients(self, released: list[torch.Tensor]) -> list[torch.Tensor]:
        """From what was released of the held parts to a gradient for each parameter."""

    @contextmanager
    def whole(self, model: nn.Module) -> Iterator[None]:
        """Inside, the model is whole on every rank and its passes exchange nothing."""
        yield


class WholeLayout:
    """One process, which holds everything."""

    group: RunGroup | None = None
    sharded = False

    def __init__(self, parameters: list[torch.Tensor]) -> None:
        self._parameters = parameters
        self._ends = [0, *accumulate(p.numel() for p in parameters)]
        self.ranges: Ranges = list(pairwise(self._ends))

    def scattered(self, number: int, total: torch.Tensor) -> torch.Tensor:
        """All of it."""
        return total

    def like(self) -> list[torch.Tensor]:
        """The parameters."""
        return self._parameters

    def zeros(self) -> list[torch.Tensor]:
        """For each parameter."""
        return [zero_sum(p.numel(), p.device) for p in self._parameters]

    def held(self, sums: list[torch.Tensor]) -> list[torch.Tensor]:
        """All of them."""
        return sums

    def gradients(self, released: list[torch.Tensor]) -> list[torch.Tensor]:
        """In the shapes and types of the parameters: this is the only rounding."""
        return [r.view_as(p).to(p) for r, p in zip(released, self._parameters, strict=True)]

    @contextmanager
    def whole(self, model: nn.Module) -> Iterator[None]:
        """It is."""
        yield


class ReplicatedLayout(WholeLayout):
    """Every rank has all parameters; each adds the noise of a part of equal length.

    A step exchanges the sums of the parts in double precision, and the released parts in the
    precision of the noise. All ranks then have the same gradients, bit for bit.
    """

    group: RunGroup

    def __init__(self, parameters: list[torch.Tensor], group: RunGroup) -> None:
        super().__init__(parameters)
        self.group = group
        self._size = self._ends[-1]
        self._length = -(-self._size // group.size)
        start = min(group.rank * self._length, self._size)
        self.ranges = [(start, min(start + self._length, self._size))]
        self._device = parameters[0].device
        self._wide = any(p.dtype == torch.float64 for p in parameters)

    def like(self) -> list[torch.Tensor]:
        """One vector, in double precision if a parameter has it."""
        (start, stop), dtype = self.ranges[0], torch.float64 if self._wide else torch.float32
        return [torch.empty(stop - start, dtype=dtype, device=self._device)]

    def held(self, sums: list[torch.Tensor]) -> list[torch.Tensor]:
        """The sum over the ranks of this rank's part; `sums` is emptied.

        Exchanged in pieces: communication copies what it is given.
        """
        total = zero_sum(self._length, sums[0].device)
        for first, last in self._pieces():
            piece = zero_sum((last - first) * self.group.size, total.device)
            for rank, part in enumerate(piece.view(self.group.size, -1)):
                self._copy(sums, rank * self._length + first, part)
            total[first:last] = self.group.sum_of_part(piece)
        sums.clear()
        start, stop = self.ranges[0]
        return [total[: stop - start]]

    def gradients(self, released: list[torch.Tensor]) -> list[torch.Tensor]:
        """The released parts of all ranks, in the shapes and types of the parameters."""
        dtype = torch.float64 if self._wide else torch.float32
        (own,) = released
        everything = torch.empty(self.group.size, self._length, dtype=dtype, device=own.device)
        for first, last in self._pieces():
            part = own.new_zeros(last - first, dtype=dtype)
            known = own[first:last]
            part[: len(known)] = known
            everything[:, first:last] = self.group.joined(part).view(self.group.size, -1)
        flat = everything.flatten()
        parts = [flat[start:end] for start, end in pairwise(self._ends)]
        return super().gradients(parts)

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Places within a part, so many at a time."""
        for first in range(0, self._length, EXCHANGED):
            yield first, min(first + EXCHANGED, self._length)

    def _copy(self, sums: list[torch.Tensor], start: int, into: torch.Tensor) -> None:
        """The coordinates of the whole vector from `start` on; nothing beyond its end."""
        first, stop = start, min(start + len(into), self._size)
        number = bisect_right(self._ends, start) - 1
        while start < stop:
            begin, end = self._ends[number], min(self._ends[number + 1], stop)
            into[start - first : end - first] = sums[number][start - begin : end - begin]
            start, number = end, number + 1


def zero_sum(length: int, device: torch.device) -> torch.Tensor:
    """Sums are in double precision."""
    return torch.zeros(length, dtype=torch.float64, device=device)


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
