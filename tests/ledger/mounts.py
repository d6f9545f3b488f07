"""Files and directories that are mounted a second time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(source: str | Path, target: Path) -> Iterator[None]:
    """The same file or directory a second time; skipped where that is not allowed."""
    if shutil.which("mount") is None:
        pytest.skip("no mount command")
    found = subprocess.run(
        ["mount", "--bind", str(source), str(target)], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip(f"no bind mounts here: {found.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(target)], check=True)
