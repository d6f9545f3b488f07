"""A virtual environment for each peer, made when it is first needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from roster import Participant

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = HERE / ".peers"
# Setting one up downloads up to some hundred megabytes.
LIMIT_SECONDS = 900
LIST_PACKAGES = (
    "import importlib.metadata as m, json; "
    "print(json.dumps({d.name: d.version for d in m.distributions()}))"
)
# Versions on which the speed of everything rests.
COMMON = ("jax", "numba", "numpy", "scipy", "torch")


class SetUpFailed(Exception):
    """An environment could not be made; the message is the last line of what went wrong."""


@dataclass
class Environments:
    """Interpreters of participants. Each environment is made once, and fails once."""

    folder: Path = PEERS
    described: dict[str, dict] = field(default_factory=dict)

    def interpreter(self, participant: Participant) -> Path:
        """The Python of the participant's environment; `SetUpFailed` if there is none."""
        if not participant.requirements:
            return Path(sys.executable)
        name = participant.requirements[0].replace("==", "-")
        home = self.folder / name
        if name not in self.described:
            self.described[name] = _made(home, participant)
        if "error" in self.described[name]:
            raise SetUpFailed(self.described[name]["error"])
        return home / "bin" / "python"


def last_line(text: str) -> str:
    """What a traceback or a log ends with, shortened."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else "no message"


def _made(home: Path, participant: Participant) -> dict:
    """What the environment contains, how long it took if it was not there, or the error."""
    start, seconds, requirements = time.perf_counter(), None, participant.requirements
    python, ready, wanted = home / "bin" / "python", home / "ready", "\n".join(requirements)
    try:
        if not ready.exists() or ready.read_text() != wanted:
            print(f"setting up {home.name} ...", file=sys.stderr, flush=True)
            ready.unlink(missing_ok=True)
            _command(_base(participant.python), "-m", "venv", "--clear", home)
            install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            _command(*install, *(part.format(root=ROOT) for part in requirements))
            ready.write_text(wanted)
            seconds = time.perf_counter() - start
        packages = json.loads(_command(python, "-c", LIST_PACKAGES))
    except (subprocess.SubprocessError, OSError) as failure:
        text = getattr(failure, "stderr", None) or str(failure)
        text = text if isinstance(text, str) else text.decode(errors="replace")
        return {"error": f"not set up: {last_line(text)}"}
    versions = {_plain(name): version for name, version in packages.items()}
    names = (*(requirement.split("==")[0] for requirement in requirements), *COMMON)
    kept = {name: versions[_plain(name)] for name in names if _plain(name) in versions}
    return {"seconds": seconds, "packages": kept}


def _base(version: str) -> str:
    """An interpreter of that version: this one, one in PATH, or one of pyenv's."""
    if version in ("", f"{sys.version_info.major}.{sys.version_info.minor}"):
        return sys.executable
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for found in (shutil.which(f"python{version}"), *map(str, pyenv)):
        # One of PATH may be a shim that only says that another version is chosen.
        if found and _command_or_nothing(found, "--version").startswith(f"Python {version}."):
            return found
    raise OSError(f"there is no Python {version}")


def _plain(name: str) -> str:
    """A name of a package in its usual spelling."""
    return name.lower().replace("_", "-")


def _command_or_nothing(*parts: object) -> str:
    try:
        return _command(*parts)
    except (subprocess.SubprocessError, OSError):
        return ""


def _command(*parts: object) -> str:
    done = subprocess.run(
        [str(part) for part in parts],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    return done.stdout
