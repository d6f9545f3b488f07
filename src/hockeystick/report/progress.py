"""A sign of life on a terminal, silence in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["Update", "progress"]

Update = Callable[[str], None]


@contextmanager
def progress(text: str) -> Iterator[Update]:
    """A spinner on standard error while the block runs, if that is a terminal; else nothing.

    Gives a function that changes the text.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status(text) as status:
        yield status.update
