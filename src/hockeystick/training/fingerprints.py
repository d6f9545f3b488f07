"""What ran: versions of the software, and fingerprints of parameters or files (SHA-256)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from hockeystick._version import __version__
from hockeystick.errors import InvalidParameter
from hockeystick.training.statement_fields import checked_digest

__all__ = ["fingerprint", "versions_of"]

ALLOWED = "numbers, a mapping of names to them, the path of a file, or a fingerprint"
MODULE = "that of a PyTorch module is hs.torch.fingerprint(module)"


def versions_of(*packages: str) -> dict[str, str]:
    """The versions of hockeystick, NumPy and the named packages, as far as they are installed.

    Parameters
    ----------
    packages
        Names of distributions.

    Returns
    -------
    dict
        A version for each name that is installed.

    Examples
    --------
    >>> import hockeystick as hs
    >>> list(hs.training.versions_of("no such package"))
    ['hockeystick', 'numpy']
    """
    found = {"hockeystick": __version__}
    for package in ("numpy", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def fingerprint(content: Any) -> str:
    """SHA-256 of arrays or of a file, as 64 hexadecimal digits.

    Of a file it is that of its bytes (what `sha256sum` prints); of an array that of its type, shape
    and numbers, little-endian; of a mapping that of its names, sorted, with their arrays. Two
    different arrays have different fingerprints, up to collisions of SHA-256. It reveals the
    content to whoever can guess it: a fingerprint of a small or structured data set is not secret.

    Parameters
    ----------
    content
        An array, a mapping of names to arrays, the `Path` of a file, or text, which has to be a
        fingerprint already.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> hs.training.fingerprint(np.zeros(3)) == hs.training.fingerprint({"": np.zeros(3)})
    False
    >>> hs.training.fingerprint(np.zeros(3))[:8]
    '5c069b46'
    """
    if isinstance(content, str):
        return checked_digest("fingerprint", content)
    if isinstance(content, Path):
        return _of_file(content)
    digest = hashlib.sha256()
    if isinstance(content, Mapping):
        if not all(isinstance(name, str) for name in content):
            raise InvalidParameter("content", ALLOWED, type(content).__name__)
        digest.update(f"mapping {len(content)} ".encode())
        for name in sorted(content):
            _feed(digest, repr(name), content[name])
    else:
        _feed(digest, "array", content)
    return digest.hexdigest()


def _feed(digest: Any, name: str, value: Any) -> None:
    if hasattr(value, "named_parameters"):
        raise InvalidParameter("content", f"{ALLOWED}; {MODULE}", type(value).__name__)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise InvalidParameter("content", ALLOWED, type(value).__name__)
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    digest.update(f"{name} {plain.dtype.str} {array.shape} ".encode("utf-8", "backslashreplace"))
    digest.update(plain.data)


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidParameter("content", "a file that can be read", str(error)) from None
