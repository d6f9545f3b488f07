"""The lowest versions that pyproject.toml allows, as constraints for pip: `make test-lowest`.

What a user may install counts: the dependencies, and the extras that the suite without PyTorch
uses. Tools of the tests are as new as they come.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("plot", "report", "pld", "crypto", "dask", "postgres", "sign")
FLOOR = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\[[^\]]*\])?>=(?P<version>[\d.]+)")


def floors() -> dict[str, str]:
    """The lowest allowed version of every package that the core and its small extras need."""
    path = Path(__file__).resolve().parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]
    found = {}
    for requirement in wanted:
        if requirement.startswith("hockeystick["):
            continue
        match = FLOOR.match(requirement)
        if match is None:
            raise ValueError(f"{requirement} has no floor")
        found[match["name"]] = match["version"]
    return found


if __name__ == "__main__":
    for name, version in floors().items():
        print(f"{name}=={version}")  # noqa: T201
