"""The file that says whose an example is."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Attribution

__all__ = ["read_attribution"]

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
    return Attribution.from_pairs(
        examples=of,
        users=who,
        number_of_examples=int(of.max()) + 1 if examples is None else examples,
        number_of_users=int(who.max()) + 1,
    )
