"""The noisy count of the gradients within the clip norm, for adaptive clipping."""

from __future__ import annotations

import math

import numpy as np

from hockeystick.errors import InvalidParameter
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
        self._resolution, self._half = resolution, 0
        if resolution is not None:
            # An example moves the integer by this at most, in noise of 2^resolution.
            self._half = math.floor(2.0**resolution / (2 * count_noise))
            if not self._half > 0:
                allowed = f"at most 2^{resolution - 1} with exact arithmetic"
                raise InvalidParameter("count_noise", allowed, count_noise)

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
        return (int(excess) * self._half + int(noise)) / (2 * self._half)
