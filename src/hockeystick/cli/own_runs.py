"""What a user brings: a strategy in a file, a mechanism in a word."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.strategies import Strategy, from_coefficients, from_matrix

__all__ = ["MECHANISMS", "mechanism_from", "own_strategy", "required_noise"]

# By name: how many numbers follow, separated by colons, and what is made of them.
MECHANISMS: dict[str, tuple[int, Callable[..., Profile]]] = {
    "laplace": (1, lambda scale: Profile.laplace(scale=scale)),
    "gaussian": (1, lambda noise: Profile.gaussian(noise_multiplier=noise)),
    "randomized-response": (1, lambda epsilon: Profile.randomized_response(epsilon=epsilon)),
    "epsilon-delta": (2, Profile.from_epsilon_delta),
}


def mechanism_from(text: str) -> Profile:
    """What NAME:NUMBER, such as laplace:1.5, stands for."""
    name, *words = text.split(":")
    allowed = "one of laplace:SCALE, gaussian:NOISE, randomized-response:EPSILON, epsilon-delta:E:D"
    count, make = MECHANISMS.get(name, (-1, Profile.from_epsilon_delta))
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise InvalidParameter("mechanism", allowed, text) from None
    if len(numbers) != count:
        raise InvalidParameter("mechanism", allowed, text)
    return make(*numbers)


def required_noise(noise_multiplier: float | None, mechanism: str | None) -> None:
    """`InvalidParameter` unless exactly one of the two is given."""
    if noise_multiplier is None and mechanism is None:
        raise InvalidParameter("noise_multiplier", "given, or a mechanism of its own", None)
    if noise_multiplier is not None and mechanism is not None:
        allowed = "left out with a noise multiplier, which is that of the Gaussian mechanism"
        raise InvalidParameter("mechanism", allowed, mechanism)


def own_strategy(*, coefficients: Path | None, matrix: Path | None, steps: int) -> Strategy | None:
    """The strategy in a file; None if there is no file."""
    if coefficients is not None and matrix is not None:
        raise InvalidParameter("matrix", "left out with coefficients", str(matrix))
    if coefficients is not None:
        return from_coefficients(_numbers("coefficients", coefficients, dimensions=1), steps=steps)
    if matrix is None:
        return None
    found = from_matrix(_numbers("matrix", matrix, dimensions=2))
    if found.steps != steps:
        allowed = f"of {steps} rows and columns, one for each step"
        raise InvalidParameter("matrix", allowed, f"{matrix} with {found.steps}")
    return found


def _numbers(name: str, path: Path, *, dimensions: int) -> FloatArray:
    """An .npy file, or text: numbers apart by blanks or commas, a row of a matrix a line."""
    shape = "a vector" if dimensions == 1 else "a matrix"
    allowed = f"a file with {shape}: .npy, or numbers apart by blanks or commas"
    try:
        if path.suffix == ".npy":
            array = np.load(path, allow_pickle=False)
        else:
            text = path.read_text(encoding="utf-8").replace(",", " ")
            array = np.array(
                [[float(w) for w in line.split()] for line in text.splitlines() if line.split()]
            )
    except (OSError, EOFError, ValueError, TypeError):
        raise InvalidParameter(name, allowed, str(path)) from None
    if dimensions == 1 and array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.dtype.kind not in "iuf" or array.ndim != dimensions or not array.size:
        raise InvalidParameter(name, allowed, str(path))
    if not math.isfinite(float(np.abs(array).max())):
        raise InvalidParameter(name, "finite numbers", str(path))
    result: FloatArray = array.astype(np.float64)
    return result
