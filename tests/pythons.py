"""Which Pythons of those we promise are here, and which suite each can run: `make test-all`.

A line for each: version, interpreter, and the target of the Makefile, which is `test` where pip
finds a build of PyTorch without CUDA libraries and `test-core` elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


def promised() -> list[str]:
    """The versions in the classifiers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.fullmatch(r".* :: (3\.\d+)", line) for line in project["classifiers"])
    return [match[1] for match in found if match]


def interpreter(version: str) -> str | None:
    """The first that runs: this one, one in PATH, one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, shutil.which(f"python{version}")]
    candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"))]
    for path in filter(None, candidates):
        done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return path
    return None


def suite(python: str) -> str:
    """`test` or `test-core`; pip only reads the metadata of the wheel that it would take."""
    if sys.platform != "linux":
        return "test"
    command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps"]
    command += ["--quiet", "--report", "-", "--constraint", str(ROOT / "constraints.txt"), "torch"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "test" if "+cpu" in done.stdout else "test-core"


def main() -> None:
    """Print what is here, and say on standard error what is not."""
    for version in promised():
        python = interpreter(version)
        if python is None:
            print(f"Python {version} is not here", file=sys.stderr)  # noqa: T201
        else:
            print(version, python, suite(python))  # noqa: T201


if __name__ == "__main__":
    main()
