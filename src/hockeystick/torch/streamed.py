"""Data sets that can only be read from beginning to end, read by index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch.utils.data import Dataset, IterableDataset

from hockeystick.errors import InvalidParameter, PlanMismatch

__all__ = ["IndexedStream", "indexed"]


class IndexedStream(Dataset[Any]):
    """An `IterableDataset` that knows its length, as a data set with indices: the order of a pass.

    A batch is read in one pass, up to its last example; what is not in it is skipped, and nothing
    is kept. Batches are random subsets, so that every step needs a pass of its own, unless all of
    its indices lie ahead. The stream has to have the same order in every pass, and in every process
    all of its examples.

    Parameters
    ----------
    stream
        The data set.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._length = len(stream)
        self._position = 0
        self._rest: Iterator[Any] = iter(())

    def __len__(self) -> int:
        return len(self.stream)

    def __getitem__(self, index: int) -> Any:
        """One example."""
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Some examples; PyTorch's loaders read whole batches so."""
        found = {index: self._read(index) for index in sorted(set(indices))}
        return [found[index] for index in indices]

    def _read(self, index: int) -> Any:
        if not 0 <= index < self._length:
            raise IndexError(index)
        if index < self._position or not self._position:
            self._rest, self._position = iter(self.stream), 0
        for example in self._rest:
            self._position += 1
            if self._position > index:
                return example
        raise PlanMismatch(
            f"The stream ended after {self._position} of the {self._length} examples that its "
            "length says; every process needs all of them, in the same order."
        )


def indexed(data: Any, options: dict[str, Any]) -> Any:
    """The data set itself, or a stream with a length as one that has indices."""
    if not isinstance(data, IterableDataset):
        return data
    if not hasattr(data, "__len__"):
        allowed = "a data set with a length; an IterableDataset needs `__len__`"
        raise InvalidParameter("data", allowed, data)
    if options.get("num_workers"):
        raise PlanMismatch(
            "A stream is read by one process, since streams may share themselves out over workers: "
            "leave num_workers out of the loader's options, or give a data set with indices."
        )
    return IndexedStream(data)
