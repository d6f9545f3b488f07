"""Epochs: the steps of a run in parts that are as equal as possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter

__all__ = ["Epoch", "EpochSplit"]


@dataclass(frozen=True)
class EpochSplit:
    """`steps` steps in `count` epochs, whose lengths differ by one at most."""

    steps: int
    count: int

    @classmethod
    def checked(cls, steps: int, epochs: Any) -> EpochSplit:
        """For a number of epochs that the user gave; None is one epoch with all steps."""
        count = 1 if epochs is None else check.positive_integer("epochs", epochs)
        if count > steps:
            raise InvalidParameter("epochs", f"at most the {steps} steps of the plan", epochs)
        return cls(steps, count)

    @classmethod
    def near(cls, steps: int, *, examples: int, expected_batch_size: float) -> EpochSplit:
        """Epochs in which as many examples are expected as there are."""
        passes = round(steps * expected_batch_size / examples)
        return cls(steps, min(max(passes, 1), steps))

    def end(self, number: int) -> int:
        """How many steps are taken when this epoch, counted from 0, is over."""
        return (number + 1) * self.steps // self.count

    def length(self, number: int) -> int:
        """The steps of this epoch."""
        return self.end(number) - self.end(number - 1)

    def at(self, taken: int) -> int:
        """The epoch of the next step; the last one if all steps are taken."""
        # The first epoch that ends after more than `taken` steps.
        return min(-(-(taken + 1) * self.count // self.steps), self.count) - 1


class Passes(Protocol):
    """A loader that can be iterated over until so many steps are taken."""

    def until(self, end: int) -> Iterator[Any]:
        """The batches of the steps before `end` that are left."""


@dataclass(frozen=True, eq=False)
class Epoch:
    """One epoch of a run, to iterate over; `run.epochs()` makes them.

    Parameters
    ----------
    number
        Counted from 0.
    steps
        Its steps, empty batches included: what `len` gives.
    end
        How many steps of the run are taken when it is over.
    loader
        The run's loader.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> data = torch.utils.data.TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    >>> run = hs.torch.make_private(
    ...     net, optimizer, data, plan, noise_multiplier=1.0, max_grad_norm=1.0
    ... )
    >>> [(epoch.number, len(epoch)) for epoch in run.epochs()]
    [(0, 1), (1, 1)]
    """

    number: int
    steps: int
    end: int
    loader: Passes

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Any]:
        """Batches of the steps up to its end, also those that an earlier epoch left."""
        return self.loader.until(self.end)
