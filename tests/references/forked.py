"""What a call does in a forked child of this process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable


def in_child(call: Callable[[], object]) -> str:
    """The name and message of the error that the call raises there; or "returned"."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks while there are threads; this child only makes one call.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            call()
            os.write(writing, b"returned")
        except BaseException as error:  # noqa: BLE001 - the parent is told
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reading, 4000).decode()
    os.close(reading)
    os.close(writing)
    return said
