"""CIFAR-10 from a folder: arrays, or the six files of the "python version", which are not trusted.

The files are pickles, and a pickle may call any function while it is read. Here it may not: only
names that stand for arrays are needed, and each of them is answered by a class of this file
that stores what it is given. Any other name is an error. The array is then made from the stored
bytes, once their number and the shape are checked. https://www.cs.toronto.edu/~kriz/cifar.html is
where these files come from, `hockeystick data cifar10` writes the arrays.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick.datasets import read_arrays
from hockeystick.errors import InvalidParameter

__all__ = ["TEST", "TRAIN", "Images", "read_images"]

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = ("test_batch",)
PIXELS = 3 * 32 * 32
CLASSES = 10


class Images(NamedTuple):
    """Colours in [0, 255], images × 3 × 32 × 32, and classes in [0, 9]."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]


def read_images(folder: Path, names: tuple[str, ...]) -> Images:
    """The images of some files of the folder, in order; `InvalidParameter` for anything else."""
    part = "test" if names == TEST else "train"
    if (folder / f"{part}_images.npy").is_file():
        arrays = read_arrays(folder, (f"{part}_images", f"{part}_labels"))
        return Images(*arrays.values())
    parts = []
    for name in names:
        path = folder / name
        try:
            content = path.read_bytes()
        except OSError:
            allowed = "a folder with the files data_batch_1 to 5 and test_batch of CIFAR-10"
            raise InvalidParameter("data", allowed, str(folder)) from None
        try:
            parts.append(_images(_Reader(io.BytesIO(content), encoding="bytes").load()))
        except Exception as error:  # noqa: BLE001 - a broken pickle fails in many ways
            allowed = f"a folder with CIFAR-10 files for Python (this one: {error})"
            raise InvalidParameter("data", allowed, str(path)) from None
    return Images(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class _Stored:
    """Stands for an array or its type: keeps what the pickle says about it and does nothing."""

    state: tuple[Any, ...] = ()

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _encoded(text: str, _encoding: str) -> bytes:
    """How Python 3 writes bytes in old pickles."""
    return text.encode("latin1")


class _Reader(pickle.Unpickler):
    """Knows the names that an array consists of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a name; nothing is imported."""
        if module in ("numpy", "numpy.core.multiarray", "numpy._core.multiarray"):
            if name in ("ndarray", "dtype", "_reconstruct"):
                return _Stored
        elif (module, name) == ("_codecs", "encode"):
            return _encoded
        raise pickle.UnpicklingError(f"the name {module}.{name} is not allowed")


def _images(found: Any) -> Images:
    """Data and labels of one file, checked."""
    named = dict(_with_text_names(found))
    _, shape, _, by_column, content = named["data"].state
    labels = np.array(named["labels"], dtype=np.int64)
    if shape != (len(labels), PIXELS):
        raise ValueError(f"the shape {shape} for {len(labels)} labels")
    if labels.size and not 0 <= labels.min() <= labels.max() < CLASSES:
        raise ValueError("a label outside [0, 9]")
    order: Literal["C", "F"] = "F" if by_column else "C"
    pixels = np.frombuffer(content, dtype=np.uint8).reshape(shape, order=order)
    return Images(pixels.reshape(-1, 3, 32, 32), labels)


def _with_text_names(found: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in found.items():
        yield name.decode() if isinstance(name, bytes) else name, value
