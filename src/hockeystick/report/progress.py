"""A sign of life on a terminal, silence in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

__all__ = ["StatusLine", "Update", "progress"]

Update = Callable[[str], None]


# Seconds after which the time is shown.
SHOWN_AFTER = 2.0


class _Timed:
    """A text, and how long it has been there."""

    def __init__(self, text: str) -> None:
        self._text, self._start = text, time.monotonic()

    def __rich__(self) -> Text:
        seconds = time.monotonic() - self._start
        return Text(f"{self._text} ({seconds:.0f} s)" if seconds >= SHOWN_AFTER else self._text)


class StatusLine:
    """A text that changes while work is done, and lines that stay above it; silent in a pipe."""

    def __init__(self, console: Console | None = None, status: Status | None = None) -> None:
        self._console, self._status = console, status

    def __call__(self, text: str) -> None:
        """Change the text."""
        if self._status is not None:
            self._status.update(_Timed(text))

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self._console is not None:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(text: str) -> Iterator[StatusLine]:
    """A spinner on standard error while the block runs, if that is a terminal; else nothing.

    Gives an object that changes the text when it is called, and prints lines above it.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield StatusLine()
        return
    with console.status(_Timed(text)) as status:
        yield StatusLine(console, status)
