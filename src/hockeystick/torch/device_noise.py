"""DeviceNoiseStream: a noise stream that is drawn and remembered where the parameters are.

Random words and normal numbers on any device: what `strategies.normals` draws, by PyTorch.

The cipher is exact: words are bit for bit those of the compiled kernels. Numbers are computed in
double precision and rounded to the type of the noise, so that they differ from those of the CPU by
rounding alone, 3e-7 of the length of a pair in single precision. PyTorch's own normal numbers are
not used: in single precision they end at 5.8 (CPU) or 6.7 (CUDA) standard deviations, since they
are made of 24 or 32 random bits, and their generators have seeds of 64 bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from hockeystick._numerics.chacha import LANES, WORDS, cipher_head
from hockeystick.strategies.noise import NoiseStream
from hockeystick.strategies.noise_parts import PURPOSE, check_row
from hockeystick.strategies.normals import FURTHER, RARE_SINGLE, TILE
from hockeystick.strategies.pieces import stretches
from hockeystick.strategies.recurrence import RecurrenceStep

__all__ = [
    "DeviceNoiseStream",
    "device_normals",
    "device_words",
]

# Of the quarter round, in its order [Bernstein08].
ROTATIONS = (16, 12, 8, 7)
# The lower 32 bits of a word that was widened with its sign.
LOW = 2**32 - 1


def device_words(head: np.ndarray, blocks: torch.Tensor, row: int, *, rounds: int) -> torch.Tensor:
    """The words of the blocks at the given places of a row, a column for each block.

    About 24 operations on a quarter of the words for each round; integers wrap around.
    """
    count, device = len(blocks), blocks.device
    fixed = torch.from_numpy(head.view(np.int32).copy()).to(device)
    given = torch.empty((WORDS, count), dtype=torch.int32, device=device)
    given[:12] = fixed[:, None]
    given[12], given[13] = _low(blocks), _low(blocks >> 32)
    given[14], given[15] = _signed(row & LOW), _signed(row >> 32)
    a, b, c, d = (part.clone() for part in given.view(4, 4, count))
    for _ in range(rounds // 2):
        _quarters(a, b, c, d)
        b, c, d = b.roll(-1, 0), c.roll(-2, 0), d.roll(-3, 0)
        _quarters(a, b, c, d)
        b, c, d = b.roll(1, 0), c.roll(2, 0), d.roll(3, 0)
    return torch.cat([a, b, c, d]).add_(given)


def device_normals(
    head: np.ndarray,
    start: int,
    count: int,
    *,
    row: int,
    rounds: int,
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    """The numbers of a row at the coordinates from `start` on, in single or double precision."""
    wide = dtype == torch.float64
    size = TILE // 2 if wide else TILE
    first, last = start // size, -(-(start + count) // size)
    blocks = torch.arange(first * LANES, last * LANES, dtype=torch.int64, device=device)
    words = device_words(head, blocks, row, rounds=rounds)
    # A word of every block of a tile, then the next word of them: (tiles, words, lanes).
    tiles = words.view(WORDS, last - first, LANES).transpose(0, 1)
    if wide:
        low, high, *angles = (_unsigned(part) for part in tiles.split(WORDS // 4, dim=1))
        logarithm = _wide_logarithm(low, high)
        turn = (angles[0] * 2.0**-32 + angles[1]) * 2.0**-32
        rare, u, size_of_u = high == 0, low, 2.0**-64
    else:
        u, angle = (_unsigned(part) for part in tiles.split(WORDS // 2, dim=1))
        logarithm = torch.log((u + 0.5) * 2.0**-32)
        turn = angle * 2.0**-32
        rare, size_of_u = u < int(RARE_SINGLE), 2.0**-32
    tile, pair, lane = torch.nonzero(rare, as_tuple=True)
    if len(tile):
        more = device_words(head, (tile + first) * LANES + lane, row | FURTHER, rounds=rounds)
        column = torch.arange(len(tile), device=device)
        low = (_unsigned(more[2 * pair, column]) + 0.5) * 2.0**-32
        low = (low + _unsigned(more[2 * pair + 1, column])) * 2.0**-32
        logarithm[tile, pair, lane] = torch.log((u[tile, pair, lane] + low) * size_of_u)
    length, angle = torch.sqrt(-2.0 * logarithm), turn * (2.0 * math.pi)
    numbers = torch.cat([length * torch.cos(angle), length * torch.sin(angle)], dim=1)
    skipped = start - first * size
    return numbers.reshape(-1)[skipped : skipped + count].to(dtype)


def _quarters(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> None:
    """Four quarter rounds at once, in place."""
    for (x, y, z), bits in zip(((a, b, d), (c, d, b)) * 2, ROTATIONS, strict=True):
        x.add_(y)
        z.bitwise_xor_(x)
        high = z.bitwise_right_shift(32 - bits).bitwise_and_((1 << bits) - 1)
        z.bitwise_left_shift_(bits).bitwise_or_(high)


def _wide_logarithm(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """ln u for u = (2^32 high + low + 1/2) / 2^64, also near 1, where 1 - u has the digits."""
    u = (high + (low + 0.5) * 2.0**-32) * 2.0**-32
    complement = ((LOW - high) + (LOW - low + 0.5) * 2.0**-32) * 2.0**-32
    return torch.where(complement < 0.25, torch.log1p(-complement), torch.log(u))


def _low(value: torch.Tensor) -> torch.Tensor:
    """The lower 32 bits, as a signed number."""
    return ((value + 2**31) & LOW).sub_(2**31).to(torch.int32)


def _signed(word: int) -> int:
    return (word + 2**31 & LOW) - 2**31


def _unsigned(words: torch.Tensor) -> torch.Tensor:
    """In double precision, which holds all words."""
    return (words.to(torch.int64) & LOW).to(torch.float64)


# Coordinates that are drawn at a time: with fewer, starting operations on a device takes longer
# than the operations; with more, what is in between takes more than some 300 megabytes.
LONGEST = 2**22


class DeviceNoiseStream(NoiseStream):
    """The same noise as that of a `NoiseStream` with the same key, up to rounding, as tensors.

    Every number follows from the key, its row and its coordinate, on whatever device it is drawn.
    So states can be exchanged with streams on other devices, and processes with different devices
    can hold parts of one vector. Nothing of the size of the vector is copied between the device and
    the host; two numbers of every row are, to check its range.

    Parameters
    ----------
    device
        Where rows and memory are.
    **settings
        Those of a `NoiseStream`.
    """

    def __init__(self, *arguments: Any, device: torch.device, **settings: Any) -> None:
        self._device = device
        super().__init__(*arguments, **settings)
        self._stretches = stretches(self.coordinates, LONGEST)

    @property
    def _working(self) -> torch.dtype:
        return torch.float64 if self.dtype == np.float64 else torch.float32

    def _blank(self, rows: int, held: int) -> Any:
        return torch.zeros((rows, held), dtype=self._working, device=self._device)

    def _own(self, rows: Any) -> Any:
        return torch.from_numpy(rows).to(self._device)

    def _saved_memory(self) -> Any:
        memory: Any = self.memory
        return memory.cpu().numpy().copy()

    def _next_row(self) -> Any:
        row = torch.empty(math.prod(self.shape), dtype=self._working, device=self._device)
        if self._ahead:
            # A stream on the CPU has computed it, before its state was loaded here.
            row[:] = self._memory[self.step % len(self._memory)]
            self._ahead -= 1
        else:
            self._fill(row)
        if row.numel():
            check_row([float(row.min()), float(row.max())], self.dtype, self._newest())
        return row.view(self.shape)

    def _fill(self, row: torch.Tensor) -> None:
        """Draw it, and correlate it with what is remembered."""
        head = cipher_head(self._key.secret(PURPOSE))
        recurrence: Any = self._recurrence
        terms: RecurrenceStep = recurrence.at(self.step, self.scale)
        for start, where in self._stretches:
            if self._factors is None:
                fresh = self._drawn(head, start, where, self.step)
                row[where] = _advanced(fresh, self._memory[:, where], terms)
            else:
                row[where] = self._replayed(head, start, where)

    def _drawn(self, head: Any, start: int, where: slice, step: int) -> torch.Tensor:
        """Independent numbers of a stretch."""
        return device_normals(
            head,
            start,
            where.stop - where.start,
            row=step,
            rounds=self._key.rounds,
            dtype=self._working,
            device=self._device,
        )

    def _replayed(self, head: Any, start: int, where: slice) -> torch.Tensor:
        """A stretch of the sum over j of factor_j times row step - j of Z, drawn again."""
        length = where.stop - where.start
        total = torch.zeros(length, dtype=torch.float64, device=self._device)
        factors = [] if self._factors is None else self._factors[: self.step + 1].tolist()
        for lag, factor in enumerate(factors):
            total.add_(self._drawn(head, start, where, self.step - lag), alpha=factor)
        return total.mul_(self.scale)


def _advanced(fresh: torch.Tensor, memory: torch.Tensor, step: RecurrenceStep) -> torch.Tensor:
    """One step of a recurrence, with sums in double precision; the memory advances."""
    total = fresh.double() * step.fresh
    for row, factor in step.past:
        total.add_(memory[row], alpha=factor)
    output = total.to(fresh.dtype)
    newest = output if step.outputs else fresh
    for row, decay in step.kept:
        if decay:
            memory[row] = memory[row].double().mul_(decay).add_(newest)
        else:
            memory[row] = newest
    return output
