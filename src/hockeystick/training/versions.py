"""The versions of the software that ran."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from hockeystick._version import __version__

__all__ = ["versions_of"]


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
