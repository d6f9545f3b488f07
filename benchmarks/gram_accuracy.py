"""How much noise `gram` asks for above what exact accounting would, and whether its numbers jump.

    python benchmarks/gram_accuracy.py noise           the table of docs/gram.md
    python benchmarks/gram_accuracy.py continuity      epsilon along bins, noise and delta
    python benchmarks/gram_accuracy.py show            what is in gram_accuracy.json

Exact accounting is estimated by draws (`hs.estimate_noise`), within about one per cent. What was
measured is kept in `gram_accuracy.json`, and only what is not there yet is computed.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import hockeystick as hs

RESULTS = Path(__file__).with_name("gram_accuracy.json")
DELTA, SEED = 1e-5, 20260116
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = ((100, 1), (100, 10), (300, 10))
MANY = ((3_000, 1), (100_000, 1))
STRATEGIES: dict[str, Callable[[int], hs.strategies.Strategy]] = {
    "bsr 4": lambda steps: hs.strategies.bsr(steps, 4),
    "bsr 64": lambda steps: hs.strategies.bsr(steps, 64),
    "bisr 4": lambda steps: hs.strategies.bisr(steps, 4),
    "band_mf 16": lambda steps: hs.strategies.band_mf(steps, 16),
    "band_mf 64": lambda steps: hs.strategies.band_mf(steps, 64),
}
# What continuity is measured for, and its steps.
PLANS = {"bsr 4": 1.0, "bisr 4": 1.5, "bsr 64": 3.0}
STEP = 1.1


def plan_of(name: str, bins: int, epochs: int) -> hs.Plan:
    """Balls-in-bins with so many bins and epochs."""
    steps = bins * epochs
    strategy = STRATEGIES[name](steps)
    return hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=steps, strategy=strategy)


def cells() -> Iterator[tuple[str, int, int, float]]:
    """Strategy, bins, epochs and epsilon; the 90 of the table first."""
    for bins, epochs in (*SIZES, *MANY):
        for name in STRATEGIES:
            for epsilon in EPSILONS:
                yield name, bins, epochs, epsilon


def read() -> dict[str, dict[str, Any]]:
    """What was measured so far."""
    if not RESULTS.exists():
        return {"noise": {}, "continuity": {}}
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text())
    return found


def keep(kind: str, key: str, value: object) -> None:
    """Write one more result, whole or not at all."""
    known = read()
    known[kind].setdefault(key, {})
    known[kind][key] = {**known[kind][key], **value} if isinstance(value, dict) else value
    waiting = RESULTS.with_suffix(".part")
    waiting.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    waiting.replace(RESULTS)


def measure_noise(what: str, only: str) -> None:
    """The noise of `gram`, and an estimate of the least noise, for cells that lack them."""
    for name, bins, epochs, epsilon in cells():
        key = f"{name}, {bins} x {epochs}, {epsilon:g}"
        known = read()["noise"].get(key, {})
        if only not in key or what in known or (what == "estimate" and bins > 3_000):
            continue
        plan, began = plan_of(name, bins, epochs), time.process_time()
        if what == "gram":
            found = hs.calibrate(plan, epsilon=epsilon, delta=DELTA, method="gram")
            result = {"gram": found.noise_multiplier}
        else:
            guess = known.get("gram")
            estimate = hs.estimate_noise(plan, epsilon=epsilon, delta=DELTA, seed=SEED, start=guess)
            error = estimate.relative_error
            result = {"estimate": estimate.noise_multiplier, "error of delta": error}
        keep("noise", key, {**result, f"{what} seconds": round(time.process_time() - began, 2)})
        print(key, result, flush=True)


def sweeps() -> Iterator[tuple[str, str, list[float]]]:
    """Strategy, what varies, and its values."""
    for name, noise in PLANS.items():
        bins = [50.0]
        while bins[-1] * STEP <= 5_000:
            bins.append(float(round(bins[-1] * STEP)))
        yield name, "bins", bins
        yield name, "noise", [0.5 * noise * 1.02**i for i in range(60)]
        yield name, "delta", [10.0 ** (-3 - i / 8) for i in range(60)]


def measure_continuity(only: str) -> None:
    """Epsilon along the sweeps."""
    for name, varies, values in sweeps():
        if only not in f"{name}, {varies}":
            continue
        known = read()["continuity"].get(f"{name}, {varies}", {})
        for value in values:
            if f"{value:.6g}" in known:
                continue
            bins = int(value) if varies == "bins" else 200
            noise = value if varies == "noise" else PLANS[name]
            delta = value if varies == "delta" else DELTA
            claim = hs.account(plan_of(name, bins, 1), noise_multiplier=noise, method="gram")
            keep("continuity", f"{name}, {varies}", {f"{value:.6g}": claim.epsilon(delta)})


def jumps(found: dict[str, float]) -> list[float]:
    """How far each point is from a curve through its two neighbours on either side, relatively.

    The sweeps are smooth in the logarithm: what a cubic through four neighbours misses is a jump.
    """
    points = sorted((float(x), y) for x, y in found.items())
    result = []
    for i in range(2, len(points) - 2):
        near = [points[j] for j in (i - 2, i - 1, i + 1, i + 2)]
        x, value = points[i][0], 0.0
        for a, (xa, ya) in enumerate(near):
            weight = 1.0
            for b, (xb, _) in enumerate(near):
                weight *= 1.0 if a == b else (x - xb) / (xa - xb)
            value += weight * ya
        result.append(points[i][1] / value - 1)
    return result


def show() -> None:
    """The table, its median and largest entry, and the largest jumps."""
    known = read()
    losses: dict[bool, list[float]] = {True: [], False: []}
    for bins, epochs in (*SIZES, *MANY):
        for name in STRATEGIES:
            row = []
            for epsilon in EPSILONS:
                cell = known["noise"].get(f"{name}, {bins} x {epochs}, {epsilon:g}", {})
                loss = None
                if "gram" in cell and "estimate" in cell:
                    loss = 100 * (cell["gram"] / cell["estimate"] - 1)
                    losses[(bins, epochs) in SIZES].append(loss)
                row.append("–" if loss is None else f"{loss:.1f}")
            print(f"| `{name}` | {bins:,} × {epochs} | " + " | ".join(row) + " |")
    for table, values in losses.items():
        if values:
            name = "table" if table else "more bins"
            print(f"{name}: median {statistics.median(values):.2f}, largest {max(values):.2f}")
    for key, found in known["continuity"].items():
        points = sorted((float(x), y) for x, y in found.items())
        largest = max(map(abs, jumps(found)), default=0.0)
        step = max(abs(b[1] / a[1] - 1) for a, b in pairwise(points))
        print(f"{key}: largest jump {100 * largest:.2f} %, steps up to {100 * step:.1f} %")


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["show"]
    if command == "noise":
        measure_noise("gram" if rest[:1] == ["gram"] else "estimate", " ".join(rest[1:]))
    elif command == "continuity":
        measure_continuity(" ".join(rest))
    else:
        show()
