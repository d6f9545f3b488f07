"""Independent noise."""

from __future__ import annotations

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["identity"]


def identity(steps: int) -> Toeplitz:
    """C = I: the noise of DP-SGD. Mean squared error of prefix sums (n + 1) / 2, largest n."""
    one = np.ones(1)
    return Toeplitz(
        "identity", steps=positive_integer("steps", steps), coefficients=one, inverse=one
    )
