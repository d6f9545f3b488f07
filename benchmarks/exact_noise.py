"""What exact arithmetic costs: CPU time and memory of noise and of clipped sums, against floats.

Noise of a million coordinates at 16 bands, or 4 of the inverse, eight rows at a time because that
is how floats are computed; sums of 64 gradients of as many
parameters. Streams alternate, after both remember all rows. Needs the extra `torch`; one thread.
Usage: python exact_noise.py [REPEATS]
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import islice

os.environ |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import torch

import hockeystick as hs
from hockeystick.strategies.recurrence import TOGETHER
from hockeystick.torch.sums import weighted_sum

DIMENSION, BANDS, EXAMPLES = 10**6, 16, 64


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of all threads of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def alternated(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The median of each; repetitions alternate."""
    times = [{name: seconds(work) for name, work in works.items()} for _ in range(repeats)]
    return {name: statistics.median(one[name] for one in times) for name in works}


def main() -> None:
    """Print the times as JSON."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    found: dict[str, object] = {}
    for name, strategy in {
        "identity": hs.strategies.identity(1000),
        "bsr": hs.strategies.bsr(1000, bands=BANDS),
        "band_mf": hs.strategies.band_mf(1000, bands=BANDS),
        "bisr": hs.strategies.bisr(1000, bands=4),
    }.items():
        streams = {
            kind: strategy.exact().noise(DIMENSION, scale=1.0, arithmetic=kind)
            for kind in ("float", "exact")
        }
        for _ in range(BANDS):
            for stream in streams.values():
                next(stream)
        works = {k: lambda s=s: deque(islice(s, TOGETHER), 0) for k, s in streams.items()}
        times = {k: t / TOGETHER for k, t in alternated(works, repeats // TOGETHER).items()}
        memory = {kind: stream.memory.nbytes for kind, stream in streams.items()}
        ratio = times["exact"] / times["float"]
        found[name] = {"seconds": times, "ratio": ratio, "bytes": memory}
    rows, factors = torch.randn(EXAMPLES, DIMENSION), torch.rand(EXAMPLES, dtype=torch.float64)
    spacing = 2.0**-24
    sums = {
        "float": lambda: weighted_sum(rows, factors),
        "exact": lambda: weighted_sum(rows, factors, spacing=spacing),
    }
    for work in sums.values():
        work()
    times = alternated(sums, repeats)
    found["sums"] = {"seconds": times, "ratio": times["exact"] / times["float"]}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
