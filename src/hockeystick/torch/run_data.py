"""The data of a run: the same one on all ranks, and streams read by index.

Ranks share one batch by its indices, so that example i has to be the same one everywhere: a few
examples are compared by digest. Data sets that augment at random return another example each time:
what differs between readings of the same rank is not compared. Data sets that can only be read from
beginning to end are read by index too.
"""

from __future__ import annotations

import hashlib
import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.run_group import RunGroup

__all__ = ["IndexedStream", "indexed", "refuse_other_data"]


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


# Examples that are read, and how often. If augmentation flips one image in two, all readings of a
# rank are the same by chance in 1 of 4,000 cases, and those of two ranks, with other images, in 1
# of 10^8.
EXAMPLES = READINGS = 4


def refuse_other_data(group: RunGroup, data: Any) -> None:
    """`PlanMismatch` on all ranks if an example is not the same on two of them."""
    found = group.of_all(_digests(data))
    if any(digests is None for digests in found):
        return
    for rank, digests in enumerate(found):
        for index, digest in digests.items():
            if digest != found[0][index]:
                raise PlanMismatch(
                    f"All ranks make one run, but example {index} of the data set is not the same "
                    f"on rank 0 and rank {rank}. Every rank needs the whole data set, in the same "
                    "order: the run shares out each batch itself."
                )


def _digests(data: Any) -> dict[int, str] | None:
    """Of some examples; None if they cannot be read, or are not the same in every reading."""
    count = len(data)
    # A stream is read from its beginning.
    steps = 1 if isinstance(data, IndexedStream) else max((count - 1) // (EXAMPLES - 1), 1)
    found: dict[int, str] = {}
    with _random_state_kept():
        for index in range(0, min(count, EXAMPLES * steps), steps):
            try:
                read = {_digest(data[index]) for _ in range(READINGS)}
            except Exception:  # noqa: BLE001 - a data set of somebody else; loading says more
                return None
            if len(read) > 1:
                return None
            found[index] = read.pop()
    return found


def _digest(example: Any) -> str:
    digest = hashlib.sha256()
    for part in _parts(example):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """What tells the value from others, whatever device or memory it is in."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        yield f"tensor {plain.dtype} {tuple(plain.shape)} ".encode()
        yield plain.reshape(-1).view(torch.uint8).numpy().tobytes()
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"array {value.dtype} {value.shape} ".encode()
        yield value.tobytes()
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)} ".encode()
        for name, part in value.items():
            yield from _parts(name)
            yield from _parts(part)
    elif isinstance(value, (list, tuple)):
        yield f"sequence {len(value)} ".encode()
        for part in value:
            yield from _parts(part)
    else:
        written = pickle.dumps(value, protocol=4)
        yield f"object {len(written)} ".encode()
        yield written


@contextmanager
def _random_state_kept() -> Iterator[None]:
    """What augmentation draws here is drawn again in the loop, as if nothing had been read."""
    state, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - others use it
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            random.setstate(state)
            np.random.set_state(of_numpy)  # noqa: NPY002
