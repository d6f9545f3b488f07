"""The file of batches: indices, offsets and the plan in one .npz."""

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
from hockeystick.schemes import Indices

__all__ = ["write_batches"]


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
