"""Run one question for one participant in this interpreter and print the measurement as JSON.

Only the standard library is used: the same file runs in every participant's environment.
Usage: python harness.py PARTICIPANT_FILE CASE REPEATS ENOUGH_SECONDS PATIENCE_SECONDS [POINT]
"""

from __future__ import annotations

import importlib.util
import json
import math
import platform
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Times:
    """Up to `repeats` calls: until warm ones took `enough`, one if it took all `patience`."""

    repeats: int
    enough: float
    patience: float

    def again(self, seconds: list[float]) -> bool:
        """Whether one more is asked for after these."""
        if len(seconds) >= max(self.repeats, 1):
            return False
        return not seconds or (seconds[0] < self.patience and sum(seconds[1:]) < self.enough)


def main(path: str, name: str, *, times: Times, point: float | None = None) -> None:
    """Time the question in one process; the first call may include warming up.

    The answer is a lower and an upper bound and, if there are several answers, the list of them.
    With a `point`, it is one of a sweep.
    """
    spec = importlib.util.spec_from_file_location("participant", path)
    assert spec is not None
    assert spec.loader is not None
    participant = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(participant)
    asked = () if point is None else (int(point) if point == int(point) else point,)
    run = (participant.CASES if point is None else participant.SWEEPS)[name]
    seconds, answer = [], (None, None)
    while times.again(seconds):
        start = time.perf_counter()
        answer = run(*asked)
        seconds.append(time.perf_counter() - start)
    lower, upper, *values = (_plain(part) for part in answer)
    found = {"lower": lower, "upper": upper, **({"values": values[0]} if values else {})}
    if upper is not None and not math.isfinite(upper):
        found = {"error": f"it answers {upper}"}
    print(json.dumps({**found, "seconds": seconds, "peak_mb": peak_mb()}))


def peak_mb() -> float:
    """The largest resident memory of this process so far, in MiB.

    Linux counts the memory of whoever started a process into ru_maxrss; VmHWM is its own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) / 2**10
    # ru_maxrss is in bytes on macOS and in kilobytes elsewhere.
    unit = 2**20 if platform.system() == "Darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _plain(part):
    """Numbers of any library as floats, in lists too; None stays None."""
    if isinstance(part, list):
        return [_plain(value) for value in part]
    return None if part is None else float(part)


if __name__ == "__main__":
    file, question, repeats, enough, patience, *rest = sys.argv[1:]
    asked_times = Times(int(repeats), float(enough), float(patience))
    main(file, question, times=asked_times, point=float(rest[0]) if rest else None)
