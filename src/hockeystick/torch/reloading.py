"""Examples of a batch put together anew, as the loader does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

__all__ = ["Reloaded"]


class Reloaded:
    """The batch that the loader handed out, and its function that puts examples together.

    `example` gives an example of the data set by its place in the batch.
    """

    def __init__(
        self, batch: Any, example: Callable[[int], Any], collate: Callable[[list[Any]], Any]
    ) -> None:
        self._leaves = tree_leaves(batch)
        self._example, self._collate = example, collate
        self._examples: dict[int, Any] = {}
        self._parts: dict[tuple[int, ...], list[Any]] = {}
        self._places: dict[int, int | None] = {}

    def place(self, value: torch.Tensor) -> int | None:
        """Which tensor of the batch this is, on whatever device; None if the loop changed it."""
        if id(value) not in self._places:
            self._places[id(value)] = next(
                (i for i, leaf in enumerate(self._leaves) if _equal(leaf, value)), None
            )
        return self._places[id(value)]

    def part(self, value: torch.Tensor, rows: Sequence[int]) -> torch.Tensor | None:
        """The same tensor in a batch of these examples only, if it is one of the loader's."""
        place = self.place(value)
        if place is None:
            return None
        leaf: torch.Tensor = self._part(rows)[place]
        return leaf.to(device=value.device)

    def agrees(self, rows: Sequence[int]) -> bool:
        """Whether these examples are in the batch as they are when read again, padding aside."""
        for whole, part in zip(self._leaves, self._part(rows), strict=True):
            if isinstance(whole, torch.Tensor) and whole.ndim:
                shorter = tuple(slice(0, n) for n in part.shape[1:])
                if not torch.equal(whole[list(rows)][(slice(None), *shorter)], part):
                    return False
        return True

    def _part(self, rows: Sequence[int]) -> list[Any]:
        key = tuple(rows)
        if key not in self._parts:
            for row in rows:
                if row not in self._examples:
                    self._examples[row] = self._example(row)
            self._parts[key] = tree_leaves(self._collate([self._examples[row] for row in rows]))
        return self._parts[key]


def _equal(leaf: Any, value: torch.Tensor) -> bool:
    return (
        isinstance(leaf, torch.Tensor)
        and leaf.shape == value.shape
        and leaf.dtype == value.dtype
        and torch.equal(leaf.to(value.device), value)
    )
