"""The batch of a step with padding, so that few sizes are compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick.schemes import Indices

__all__ = ["PaddedBatch"]


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """The batch of a step: indices of examples, filled up with example 0.

    Attributes
    ----------
    indices
        Of examples; as many as a multiple of `pad_to`.
    counted
        Which of them are in the batch; the others contribute nothing.
    step
        Counted from 0.
    """

    indices: Indices
    counted: Any
    step: int

    @property
    def size(self) -> int:
        """How many examples the plan has drawn."""
        return int(self.counted.sum())

    @classmethod
    def of(cls, batch: Indices, step: int, *, pad_to: int) -> PaddedBatch:
        """Filled up to a multiple of `pad_to`, an empty batch too."""
        length = max(-(-batch.size // pad_to), 1) * pad_to
        indices = np.zeros(length, dtype=np.int64)
        indices[: batch.size] = batch
        return cls(indices, np.arange(length) < batch.size, step)
