"""Run one case of one participant in this interpreter and print the measurement as JSON.

Only the standard library is used: the same file runs in every participant's environment.
Usage: python harness.py PARTICIPANT_FILE CASE REPEATS
"""

from __future__ import annotations

import importlib.util
import json
import platform
import resource
import sys
import time


def main(path: str, case: str, repeats: int) -> None:
    """Time the case `repeats` times in one process; the first time may include warming up."""
    spec = importlib.util.spec_from_file_location("participant", path)
    assert spec is not None
    assert spec.loader is not None
    participant = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(participant)
    run = participant.CASES[case]
    seconds, bounds = [], (None, None)
    for _ in range(repeats):
        start = time.perf_counter()
        bounds = run()
        seconds.append(time.perf_counter() - start)
    lower, upper = (None if value is None else float(value) for value in bounds)
    # ru_maxrss is in bytes on macOS and in kilobytes elsewhere.
    unit = 2**20 if platform.system() == "Darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps({"lower": lower, "upper": upper, "seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
