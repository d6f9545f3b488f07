"""The scripts of `reproductions/`: where they are, what they say about themselves, how they run."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hockeystick.errors import MissingExtra

__all__ = ["Script", "all_scripts"]

PACKAGE = Path(__file__).resolve().parents[1]
# In a wheel they are inside the package, in a clone beside `src`.
FOLDERS = (PACKAGE / "_reproductions", PACKAGE.parents[1] / "reproductions")
# Files without a usage line are shared by others and make nothing alone.
USAGE = "Usage: "
EXTRAS = {"matplotlib": "plot", "opacus": "train", "sklearn": "train", "torch": "train"}


@dataclass(frozen=True)
class Script:
    """A file that makes one picture or table."""

    path: Path
    summary: str
    usage: str

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.path.stem

    def run(self, arguments: Sequence[str]) -> int:
        """Run it in this process; its exit status.

        `MissingExtra` if it imports something that is not installed.
        """
        with _importable(self.path.parent):
            try:
                status: int = importlib.import_module(self.name).main(arguments)
            except ModuleNotFoundError as error:
                missing = (error.name or "").partition(".")[0]
                if missing not in EXTRAS:
                    raise
                raise MissingExtra(
                    f"{self.name} needs {missing}, which is not installed; install it with the "
                    f"extra `{EXTRAS[missing]}`: hockeystick[{EXTRAS[missing]}]."
                ) from None
        return status


def all_scripts(folders: Sequence[Path] = FOLDERS) -> dict[str, Script]:
    """The scripts of the first folder that exists, by name and in its order; perhaps none."""
    folder = next((folder for folder in folders if (folder / "curves.py").is_file()), None)
    if folder is None:
        return {}
    found = (_described(path) for path in sorted(folder.glob("*.py")))
    return {script.name: script for script in found if script is not None}


def _described(path: Path) -> Script | None:
    """From the docstring, without running anything; None if it is no script."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    lines = text.splitlines()
    usage = next((line for line in lines if line.startswith(USAGE)), None)
    return None if usage is None else Script(path, lines[0], usage.removeprefix(USAGE))


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Scripts import what they share by name."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
