"""Batches: what a sampling scheme hands out, each batch once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick._process import SingleUse

__all__ = ["Batches", "Indices"]

Indices: TypeAlias = npt.NDArray[np.int64]
"""A batch: the numbers of its examples, from 0."""


class Batches(SingleUse, Iterator[Indices]):
    """An iterator over batches, for the process that asked for them."""

    what = "The sequence of batches"

    def __init__(self, drawn: Iterator[Indices]) -> None:
        self._drawn = drawn

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Indices:
        self.check_here()
        return next(self._drawn)
