"""Layouts: which part of the parameter vector a process sums, adds noise to and updates.

All trained parameters, flattened one after the other, are one vector of d coordinates. One process
holds all of it. Of several, each holds a part: it gets the sum of that part over the ranks, draws
and remembers the noise of that part only, and all parts together are the noise of one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Protocol

import torch
from torch import nn

from hockeystick.torch.run_group import RunGroup

__all__ = ["Layout", "Ranges", "ReplicatedLayout", "WholeLayout", "zero_sum"]

Ranges = list[tuple[int, int]]


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
        """The parts of the sum over the ranks that are held here, flat and in double precision."""

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
        """The sum over the ranks of this rank's part."""
        everything = zero_sum(self._length * self.group.size, sums[0].device)
        torch.cat([s.to(everything.device) for s in sums], out=everything[: self._size])
        (start, stop), part = self.ranges[0], self.group.sum_of_part(everything)
        return [part[: stop - start]]

    def gradients(self, released: list[torch.Tensor]) -> list[torch.Tensor]:
        """The released parts of all ranks, in the shapes and types of the parameters."""
        dtype = torch.float64 if self._wide else torch.float32
        part = released[0].new_zeros(self._length, dtype=dtype)
        part[: len(released[0])] = released[0]
        everything = self.group.joined(part)
        parts = [everything[start:end] for start, end in pairwise(self._ends)]
        return super().gradients(parts)


def zero_sum(length: int, device: torch.device) -> torch.Tensor:
    """Sums are in double precision."""
    return torch.zeros(length, dtype=torch.float64, device=device)
