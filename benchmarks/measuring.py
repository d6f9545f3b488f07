"""One measurement in a process of its own, under a time and a memory limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from environments import HERE, Environments, SetUpFailed, last_line
from roster import Participant

PAUSE_SECONDS = 0.05
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# More than this share of the machine's memory would make everybody slow.
MEMORY_SHARE = 0.6
MEMORY_SHARE_OF_FREE = 0.8


@dataclass(frozen=True)
class Allowance:
    """How often a question is asked, and what it may take."""

    repeats: int
    seconds: float
    enough_seconds: float = 30.0
    megabytes: float | None = None

    @property
    def arguments(self) -> tuple[float, ...]:
        """For the harness; a first call that takes a third of the time is the only one."""
        return self.repeats, self.enough_seconds, self.seconds / 3


def allowed_megabytes() -> float:
    """The memory that one measurement may take; what others use is not there to be taken."""
    all_of_it = os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES / 2**20
    return min(MEMORY_SHARE * all_of_it, MEMORY_SHARE_OF_FREE * _available_mb(all_of_it))


def _available_mb(default: float) -> float:
    """What could be used now; the default where the system does not say."""
    overview = Path("/proc/meminfo")
    if overview.exists():
        lines = dict(line.split(":", 1) for line in overview.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) / 2**10
    return default


def measure(
    participant: Participant,
    name: str,
    *,
    allowance: Allowance,
    environments: Environments,
    point: float | None = None,
) -> dict:
    """The answer of one participant; a failure or a time-out is an answer too."""
    try:
        python = environments.interpreter(participant)
    except SetUpFailed as failure:
        return {"error": str(failure)}
    file = HERE / "participants" / participant.file
    command = [python, HERE / "harness.py", file, name, *allowance.arguments]
    if point is not None:
        command.append(point)
    # An environment of its own has all it needs.
    return finished(command, allowance, inherit_path=not participant.requirements)


def finished(command: Sequence[object], allowance: Allowance, *, inherit_path: bool = True) -> dict:
    """What the command prints last, as JSON, or its error."""
    variables = {k: v for k, v in os.environ.items() if inherit_path or k != "PYTHONPATH"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=out,
            stderr=err,
            start_new_session=True,
            env=variables,
        )
        try:
            stopped = _watch(process, allowance)
        finally:
            _end(process)
        for file in (out, err):
            file.seek(0)
        printed, complaint = out.read(), err.read()
    if stopped is not None:
        return {"error": stopped}
    if process.returncode < 0:
        return {"error": f"ended by {signal.Signals(-process.returncode).name}"}
    if process.returncode > 0:
        return {"error": last_line(complaint)}
    try:
        return json.loads(printed.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": "no measurement was printed"}


def _watch(process: subprocess.Popen, allowance: Allowance) -> str | None:
    """Wait for the end; why it was not waited for any longer."""
    most = allowed_megabytes() if allowance.megabytes is None else allowance.megabytes
    start = time.monotonic()
    while process.poll() is None:
        if time.monotonic() - start > allowance.seconds:
            return f"timed out after {allowance.seconds:g} s"
        if _resident_mb(process.pid) > most:
            return f"stopped at {most / 2**10:.3g} GB of memory"
        time.sleep(PAUSE_SECONDS)
    return None


def _resident_mb(pid: int) -> float:
    """Memory in use; 0 where the system does not show it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES / 2**20
    except (OSError, IndexError):
        return 0.0


def _end(process: subprocess.Popen) -> None:
    """The process and what it started, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
