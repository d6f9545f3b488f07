"""Random numbers that belong to an example and not to its place in the batch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

__all__ = ["RowRandomness", "kept_random_states"]


class RowRandomness(TorchDispatchMode):
    """Dropout and other random operations draw for an example what they drew for it before.

    The examples are rows `positions` of a batch of `total`. Every random operation is seeded by its
    number, carried out for the whole batch, and cut to the rows that are there: a pass over some of
    the examples sees the random numbers that a pass over all of them sees. `count` says how many
    random operations there were.
    """

    def __init__(self, positions: Sequence[int], total: int) -> None:
        super().__init__()
        self._positions = torch.tensor(list(positions))
        self._total = total
        self._wide = torch.zeros(total, dtype=torch.int64)
        self._wide[self._positions] = torch.arange(len(self._positions))
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """The operation itself, unless it is random."""
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        torch.manual_seed(self.count)
        self.count += 1
        wide = func(*self._widened(args), **self._widened(kwargs))
        cut = tree_map(self._narrowed, wide)
        if func._schema.is_mutable and isinstance(args[0], torch.Tensor):
            return args[0].copy_(cut)
        return cut

    def _widened(self, values: Any) -> Any:
        """Tensors and sizes with a row for every example of the batch."""
        here = len(self._positions)
        if isinstance(values, (list, tuple)):
            sizes = all(isinstance(v, int) for v in values) and isinstance(values, list)
            if sizes and values and values[0] == here:
                return [self._total, *values[1:]]
            return type(values)(self._widened(v) for v in values)
        if isinstance(values, dict):
            return {name: self._widened(v) for name, v in values.items()}
        if isinstance(values, torch.Tensor) and values.ndim and len(values) == here:
            return values[self._wide.to(values.device)]
        return values

    def _narrowed(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.ndim and len(value) == self._total:
            return value[self._positions.to(value.device)]
        return value


@contextmanager
def kept_random_states(devices: Sequence[torch.device]) -> Iterator[None]:
    """PyTorch's, NumPy's and Python's global generators are afterwards as they were before."""
    on_cards = sorted({d.index or 0 for d in devices if d.type == "cuda"})
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002 - only kept
    try:
        with torch.random.fork_rng(devices=on_cards):
            yield
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)
