"""Whether the ranks of a group have the same data set: a few examples are compared by digest.

Ranks share one batch by its indices, so that example i has to be the same one everywhere. Data sets
that augment at random return another example each time: what differs between readings of the same
rank is not compared.
"""

from __future__ import annotations

import hashlib
import pickle
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.run_group import RunGroup
from hockeystick.torch.streamed import IndexedStream

__all__ = ["refuse_other_data"]

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
