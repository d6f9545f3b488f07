"""The noisy count of the gradients within the clip norm, for adaptive clipping."""

from __future__ import annotations

import math

import numpy as np

from hockeystick.plan import Plan
from hockeystick.randomness import Key

__all__ = ["NormCount"]


class NormCount:
    """Half of (gradients within the clip norm - others) plus noise, once for every step.

    The noise belongs to the coordinate after those of the gradients, in the same row and of the
    same key: it is drawn by whoever has the key, and independent of the noise of the gradients.
    With exact arithmetic a half is an integer number of lattice points, rounded down.
    """

    def __init__(
        self, plan: Plan, *, dimension: int, count_noise: float, resolution: int | None
    ) -> None:
        self._plan, self._dimension, self._count_noise = plan, dimension, count_noise
        self._resolution = resolution

    def released(self, excess: float, *, key: Key, step: int) -> float:
        """The noisy half of `excess`; `step`, counted from 0, is that of the noise's row."""
        exact = self._resolution is not None
        stream = self._plan.noise(
            self._dimension + 1,
            scale=1.0,
            dtype=np.float64,
            rng=key,
            coordinates=((self._dimension, self._dimension + 1),),
            arithmetic="exact" if exact else "float",
            resolution=self._resolution,
        )
        stream.forward(step)
        noise = next(stream)[0]
        if self._resolution is None:
            return excess / 2 + self._count_noise * float(noise)
        # An example moves the integer by `half` at most, in noise of 2^resolution.
        half = math.floor(2.0**self._resolution / (2 * self._count_noise))
        return (int(excess) * half + int(noise)) / (2 * half)
