"""What a user brings: owners of examples and strategies in files, a mechanism in a word."""

from __future__ import annotations

import math
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from hockeystick._files import replacing
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.schemes import Attribution, Indices
from hockeystick.strategies import Strategy, from_coefficients, from_matrix

__all__ = [
    "MECHANISMS",
    "mechanism_from",
    "own_strategy",
    "read_attribution",
    "required_noise",
    "write_batches",
]

ARRAYS = ("examples", "users")
# By name: how many numbers follow, separated by colons, and what is made of them.
MECHANISMS: dict[str, tuple[int, Callable[..., Profile]]] = {
    "laplace": (1, lambda scale: Profile.laplace(scale=scale)),
    "gaussian": (1, lambda noise: Profile.gaussian(noise_multiplier=noise)),
    "discrete-gaussian": (1, lambda noise: Profile.discrete_gaussian(deviation=noise)),
    "zcdp": (1, Profile.zcdp),
    "randomized-response": (1, lambda epsilon: Profile.randomized_response(epsilon=epsilon)),
    "epsilon-delta": (2, Profile.from_epsilon_delta),
}


def read_attribution(path: Path, *, examples: int | None = None) -> Attribution:
    """The graph in an .npz file with the integer vectors `examples` and `users` of equal length.

    Example `examples[j]` belongs to user `users[j]`; both are numbered from 0. Without a number of
    examples the largest index is taken for the last one.
    """
    allowed = "an .npz file with the integer arrays examples and users"
    try:
        with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
            of, who = (file[name] for name in ARRAYS)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise InvalidParameter("attribution", allowed, str(path)) from None
    if any(
        array.dtype.kind not in "iu" or array.ndim != 1 or not array.size for array in (of, who)
    ):
        raise InvalidParameter("attribution", allowed, str(path))
    return Attribution.from_pairs(examples=of, users=who, number_of_examples=examples)


def write_batches(path: Path, batches: Iterable[Indices], *, plan: str) -> npt.NDArray[np.int64]:
    """Write the batches as they come and return their sizes.

    `numpy.load` gives `indices` (int64, all batches one after the other), `offsets` (int64, batch i
    is indices[offsets[i]:offsets[i + 1]]) and `plan` (text). The header of an array holds its
    length, which is known only at the end, so indices wait in an unnamed file beside `path`:
    memory for one batch and the offsets, disk space for the indices twice. The same batches give
    the same bytes.
    """
    with replacing(path) as file, tempfile.TemporaryFile(dir=path.parent) as waiting:
        sizes = np.fromiter((_append(waiting, batch) for batch in batches), dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        waiting.seek(0)
        with zipfile.ZipFile(file, "w") as archive:
            with _entry(archive, "indices") as entry:
                _write_header(entry, length=int(offsets[-1]))
                shutil.copyfileobj(waiting, entry)
            for name, array in (("offsets", offsets), ("plan", np.array(plan))):
                with _entry(archive, name) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    return sizes


def _append(file: BinaryIO, batch: Indices) -> int:
    file.write(np.ascontiguousarray(batch, dtype="<i8").data)
    return batch.size


def _entry(archive: zipfile.ZipFile, name: str) -> Any:
    # A ZipInfo of its own has a fixed date, which keeps the file reproducible.
    return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)


def _write_header(file: Any, *, length: int) -> None:
    header = {"descr": "<i8", "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)


def mechanism_from(text: str) -> Profile:
    """What NAME:NUMBER, such as laplace:1.5, stands for."""
    name, *words = text.split(":")
    allowed = (
        "one of laplace:SCALE, gaussian:NOISE, discrete-gaussian:NOISE, zcdp:RHO, "
        "randomized-response:EPSILON, epsilon-delta:E:D"
    )
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
