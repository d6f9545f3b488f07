"""Memory and time of the noise of a step, for 10^6 to 10^9 parameters.

Memory is what the stream says it remembers, and the row itself. Time is CPU time of one core, the
least of some rows, or means of as many as are computed together; streams of all kinds take turns.
What needs more memory than the limit is computed in proportion to the number of parameters, and
marked so.
Usage: python noise_memory.py [GIGABYTES]; writes noise_memory.json and prints the table.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import hockeystick as hs
from hockeystick._numerics.threads import processors

KEPT = Path(__file__).with_suffix(".json")
STEPS, REPEATS = 64, 3
SIZES = (10**6, 10**7, 10**8, 10**9)
POWERS = {6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹"}
# Name, strategy, how earlier rows are had, ranks: of several, one holds its part of the vector.
KINDS = (
    ("independent", hs.strategies.identity(STEPS), "rows", 1),
    ("`band_mf`, 16 bands", hs.strategies.band_mf(STEPS, bands=16), "rows", 1),
    ("`band_mf`, 16 bands", hs.strategies.band_mf(STEPS, bands=16), "rows", 8),
    ("`bisr`, 4 inverse bands", hs.strategies.bisr(STEPS, bands=4), "rows", 1),
    ("`bisr`, 4 inverse bands", hs.strategies.bisr(STEPS, bands=4), "replay", 1),
    ("`bisr`, 4 inverse bands", hs.strategies.bisr(STEPS, bands=4), "replay", 8),
    ("`lambda_cgd`", hs.strategies.lambda_cgd(STEPS, decay=0.9), "rows", 1),
    ("`lambda_cgd`", hs.strategies.lambda_cgd(STEPS, decay=0.9), "replay", 1),
    ("`blt`, 3 buffers", hs.strategies.blt(STEPS, buffers=3), "rows", 1),
    ("`blt`, 3 buffers", hs.strategies.blt(STEPS, buffers=3), "rows", 8),
)


def gigabytes(strategy: hs.strategies.Strategy, noise_memory: str, size: float) -> float:
    """Of the remembered rows and the row itself, in single precision."""
    rows = 0 if noise_memory == "replay" else strategy.recurrence.rows
    return (rows + 1) * size * 4 / 1e9


def measured(limit: float) -> list[dict]:
    """An entry for each kind and size: gigabytes, seconds, and whether they were measured."""
    found = []
    for size in SIZES:
        for name, strategy, noise_memory, ranks in KINDS:
            held = -(-size // ranks)
            entry = {"kind": name, "noise_memory": noise_memory, "ranks": ranks, "size": size}
            entry["gigabytes"] = gigabytes(strategy, noise_memory, held)
            entry["measured"] = entry["gigabytes"] <= limit
            if entry["measured"]:
                seconds, remembered = seconds_per_row(strategy, noise_memory, size, held)
                entry["seconds"] = seconds
                if abs(remembered + held * 4 / 1e9 - entry["gigabytes"]) > 1e-9:
                    raise AssertionError(f"{name} remembers {remembered} GB")
            else:
                entry["seconds"] = 10 * found[-len(KINDS)]["seconds"]
            found.append(entry)
            print(json.dumps(entry), file=sys.stderr, flush=True)
    return found


def seconds_per_row(
    strategy: hs.strategies.Strategy, noise_memory: str, size: int, held: int
) -> tuple[float, float]:
    """CPU time of a row once the memory is full, and the gigabytes that are remembered."""
    stream = strategy.noise(size, rng=1, noise_memory=noise_memory, coordinates=[(0, held)])
    solved = strategy.recurrence.solved(0, STEPS)
    together = 1 if solved is None else len(solved)
    for _ in range(min(strategy.recurrence.rows + 1, 16)):
        next(stream)
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(together):
            next(stream)
        times.append((time.process_time() - start) / together)
    return min(times), stream.memory.nbytes / 1e9


def table(found: list[dict]) -> str:
    """Markdown: a line for each kind, a column for each size; computed entries in italics."""
    head = ["noise", "memory", "ranks", *(f"10{POWERS[len(str(size)) - 1]}" for size in SIZES)]
    lines = [head, ["---"] * len(head)]
    for name, _, noise_memory, ranks in KINDS:
        mine = [
            entry
            for entry in found
            if (entry["kind"], entry["noise_memory"], entry["ranks"]) == (name, noise_memory, ranks)
        ]
        cells = [f"{e['gigabytes']:.3g} GB, {e['seconds']:.2g} s" for e in mine]
        marked = [c if e["measured"] else f"*{c}*" for c, e in zip(cells, mine, strict=True)]
        lines.append([name, noise_memory, str(ranks), *marked])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(limit: float) -> None:
    """Measure, keep, print."""
    found = measured(limit)
    KEPT.write_text(json.dumps({"processors": processors(), "found": found}, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
