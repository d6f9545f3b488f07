"""Random numbers that belong to an example and not to its position in the batch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

__all__ = ["CONSTANT", "LAYOUTS", "PerExampleRandomness", "RandomStates", "kept_random_states"]

# How the first dimension of a random tensor may belong to the examples: a block of entries for each
# (a batch with attention heads or positions folded in), one entry for each, or not at all.
LAYOUTS = ("blocks", "rows", "none")
# Random tensors have the same number everywhere, whatever their shape.
CONSTANT = "constant"
# Operations whose result consists of random numbers alone.
PURELY_RANDOM = frozenset(
    f"aten::{name}{end}"
    for name in ("bernoulli", "normal", "uniform", "rand", "randn")
    for end in ("", "_", "_like")
)


class PerExampleRandomness(TorchDispatchMode):
    """Dropout and other random operations draw for an example what they drew for it before.

    The examples are the rows `positions` of a batch of `total`. Every random operation is seeded by
    `seed` and its number, carried out for the whole batch, and cut to the rows that are there: a
    pass over some of the examples gets the random numbers that a pass over all of them gets.
    `count` is how many random operations there were, `opaque` how many could not be made constant.
    """

    def __init__(self, positions: Sequence[int], total: int, *, seed: int, layout: str) -> None:
        super().__init__()
        self._positions = torch.tensor(list(positions))
        self._total, self._seed, self._layout = total, seed, layout
        self._wide = torch.zeros(total, dtype=torch.int64)
        self._wide[self._positions] = torch.arange(len(self._positions))
        self.count = self.opaque = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """The operation itself, unless it is random."""
        kwargs = kwargs or {}
        if not _is_random(func, args, kwargs):
            return func(*args, **kwargs)
        torch.manual_seed(self._seed + self.count)
        self.count += 1
        if self._layout == CONSTANT:
            if func._schema.name in PURELY_RANDOM:
                return _constant(func, args, kwargs)
            self.opaque += 1
        given, options = self._widened(args), self._widened(kwargs)
        result = tree_map(self._narrowed, func(*given, **options))
        if args and func._schema.arguments[0].is_write:
            return args[0].copy_(result)
        return result

    def _widened(self, values: Any) -> Any:
        """Tensors and sizes with a row for every example of the batch."""
        here = len(self._positions)
        if isinstance(values, list) and values and all(isinstance(v, int) for v in values):
            blocks = self._blocks(values[0], here)
            return [self._total * blocks, *values[1:]] if blocks else values
        if isinstance(values, (list, tuple)):
            return type(values)(self._widened(v) for v in values)
        if isinstance(values, dict):
            return {name: self._widened(v) for name, v in values.items()}
        return self._indexed(values, self._wide, here)

    def _narrowed(self, value: Any) -> Any:
        return self._indexed(value, self._positions, self._total)

    def _indexed(self, value: Any, index: torch.Tensor, rows: int) -> Any:
        if not isinstance(value, torch.Tensor) or not value.ndim:
            return value
        blocks = self._blocks(len(value), rows)
        if not blocks:
            return value
        apart = value.reshape(rows, blocks, *value.shape[1:])
        return apart[index.to(value.device)].reshape(-1, *value.shape[1:])

    def _blocks(self, length: int, rows: int) -> int:
        """How many entries of the first dimension belong to one example; 0 if it is not theirs."""
        if self._layout in ("none", CONSTANT) or length % rows or not length:
            return 0
        blocks = length // rows
        return blocks if self._layout == "blocks" or blocks == 1 else 0


def _is_random(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether the operation draws: fused attention with a dropout of zero, for instance, does not.

    If it counted, the probe could not tell its draws from an influence.
    """
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    for place, argument in enumerate(func._schema.arguments):
        if argument.name == "dropout_p":
            given = args[place] if place < len(args) else kwargs.get(argument.name)
            return bool((argument.default_value if given is None else given) != 0.0)
    return True


def _constant(func: Any, args: Any, kwargs: Any) -> Any:
    """What the operation returns, with the same number everywhere: 1 for Bernoulli draws."""
    result = func(*args, **kwargs)
    return result.fill_(1.0 if "bernoulli" in func._schema.name else 0.5)


class RandomStates:
    """The present states of PyTorch's, NumPy's and Python's global generators."""

    def __init__(self) -> None:
        self._torch = torch.random.get_rng_state()
        self._numpy = np.random.get_state()  # noqa: NPY002 - only kept
        self._python = random.getstate()
        self._cards = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    def restore(self) -> None:
        """Set all generators back."""
        torch.random.set_rng_state(self._torch)
        np.random.set_state(self._numpy)  # noqa: NPY002
        random.setstate(self._python)
        if self._cards:
            torch.cuda.set_rng_state_all(self._cards)

    @property
    def used_outside_of_torch(self) -> bool:
        """Whether Python's or NumPy's generator has drawn since."""
        now = np.random.get_state()  # noqa: NPY002
        same = all(np.array_equal(a, b) for a, b in zip(now, self._numpy, strict=True))
        return not same or random.getstate() != self._python


@contextmanager
def kept_random_states() -> Iterator[None]:
    """Restores the global generators afterwards."""
    kept = RandomStates()
    try:
        yield
    finally:
        kept.restore()
