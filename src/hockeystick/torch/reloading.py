"""Examples of a batch put together anew, as the loader does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path

from hockeystick.torch.model_state import same

__all__ = ["Reloaded"]


class Reloaded:
    """The batch that the loader handed out, and its function that puts examples together.

    `example` gives an example of the data set by its place in the batch.
    """

    def __init__(
        self,
        batch: Any,
        size: int,
        example: Callable[[int], Any],
        collate: Callable[[list[Any]], Any],
    ) -> None:
        self._size = size
        self._tensors = _by_path(batch, size)
        self._example, self._collate = example, collate
        self._examples: dict[int, Any] = {}
        self._parts: dict[tuple[int, ...], dict[str, torch.Tensor]] = {}
        self._paths: dict[int, str | None] = {}

    def path(self, value: torch.Tensor) -> str | None:
        """Which tensor of the batch this is, on whatever device; None if the loop changed it."""
        if id(value) not in self._paths:
            self._paths[id(value)] = next(
                (path for path, known in self._tensors.items() if _equal(known, value)), None
            )
        return self._paths[id(value)]

    def part(self, value: torch.Tensor, rows: Sequence[int]) -> torch.Tensor | None:
        """The same tensor in a batch of these examples only, if it is one of the loader's."""
        path = self.path(value)
        again = None if path is None else self._part(rows).get(path)
        return None if again is None else again.to(device=value.device)

    def agrees(self, rows: Sequence[int]) -> bool:
        """Whether these examples are in the batch as they are when read again, padding aside."""
        part = self._part(rows)
        for path, whole in self._tensors.items():
            again = part.get(path)
            if again is None or again.ndim != whole.ndim:
                return False
            shorter = tuple(slice(0, n) for n in again.shape[1:])
            if not same(whole[list(rows)][(slice(None), *shorter)], again):
                return False
        return True

    def _part(self, rows: Sequence[int]) -> dict[str, torch.Tensor]:
        key = tuple(rows)
        if key not in self._parts:
            for row in rows:
                if row not in self._examples:
                    self._examples[row] = self._example(row)
            batch = self._collate([self._examples[row] for row in rows])
            self._parts[key] = _by_path(batch, len(rows))
        return self._parts[key]


def _by_path(batch: Any, size: int) -> dict[str, torch.Tensor]:
    """Tensors with a row for each example, by their place in the batch."""
    leaves, _ = tree_flatten_with_path(batch)
    return {
        keystr(path): leaf
        for path, leaf in leaves
        if isinstance(leaf, torch.Tensor) and leaf.ndim and len(leaf) == size
    }


def _equal(known: torch.Tensor, value: torch.Tensor) -> bool:
    return known.dtype == value.dtype and same(known.to(value.device), value)
