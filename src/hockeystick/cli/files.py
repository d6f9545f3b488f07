"""Files that commands read and write: who owns which example, and drawn batches."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from hockeystick._files import replacing
from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Attribution, Indices

__all__ = ["read_attribution", "write_batches"]

ARRAYS = ("examples", "users")


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
