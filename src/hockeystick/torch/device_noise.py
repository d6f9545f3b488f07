"""DeviceNoiseStream: a noise stream that is drawn and remembered where the parameters are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from hockeystick._numerics.chacha import cipher_head
from hockeystick.strategies.noise import NoiseStream
from hockeystick.strategies.noise_parts import PURPOSE, check_row
from hockeystick.strategies.pieces import stretches
from hockeystick.strategies.recurrence import RecurrenceStep
from hockeystick.torch.device_words import device_normals

__all__ = ["DeviceNoiseStream"]

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
        head = cipher_head(self._key.secret(PURPOSE))
        recurrence: Any = self._recurrence
        terms: RecurrenceStep = recurrence.at(self.step, self.scale)
        for start, where in self._stretches:
            if self._factors is None:
                fresh = self._drawn(head, start, where, self.step)
                row[where] = _advanced(fresh, self._memory[:, where], terms)
            else:
                row[where] = self._replayed(head, start, where)
        if row.numel():
            check_row([float(row.min()), float(row.max())], self.dtype, self._newest())
        return row.view(self.shape)

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
