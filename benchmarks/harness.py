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
    """Time the case `repeats` times in one process; the first time may include warming up.

    A case gives a lower and an upper bound and, if it has several answers, the list of them.
    """
    spec = importlib.util.spec_from_file_location("participant", path)
    assert spec is not None
    assert spec.loader is not None
    participant = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(participant)
    run = participant.CASES[case]
    seconds, answer = [], (None, None)
    for _ in range(repeats):
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
    lower, upper, *values = (_plain(part) for part in answer)
    found = {"lower": lower, "upper": upper, **({"values": values[0]} if values else {})}
    # ru_maxrss is in bytes on macOS and in kilobytes elsewhere.
    unit = 2**20 if platform.system() == "Darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps({**found, "seconds": seconds, "peak_mb": peak}))


def _plain(part):
    """Numbers of any library as floats, in lists too; None stays None."""
    if isinstance(part, list):
        return [_plain(value) for value in part]
    return None if part is None else float(part)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
