"""Noise that draws allow, by this library, jax-privacy and Opake: draws, seconds and slack.

b-min-sep sampling, 16 bands of the square root, 500 steps, batches of 500 of 50,000, epsilon 2.
Each tool looks for the least noise for which it makes a claim at delta: `hs.calibrate` with draws,
jax-privacy by the delta that its draws may show (`get_base_delta`), Opake by the confidence band
of its privacy loss distribution with a resolution of delta/10. Slack is the noise above our
estimate of what exact accounting would give. Seconds are of CPU, compilation included. At small
delta the draws that the others need are those that their own functions name; their seconds are
these draws at the measured speed, for one noise level, and marked.

Every tool runs in its own environment: give the interpreters. jax-privacy 2.0.0 and Opake 0.16.1,
of which only the compiled accountant is used, for Python 3.13.

Usage: python benchmarks/monte_carlo.py --jax PYTHON --opake PYTHON [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EPSILON, DELTA, SMALL = 2.0, 1e-3, (1e-5, 1e-8)
STEPS, RATE, BANDS = 500, 0.01, 16
# jax-privacy holds all draws in memory; its base delta for so many is 0.75 of delta.
DRAWS, CHUNK = 100_000, 20_000
CLOSE = 2e-3


def participation() -> float:
    """The probability with which an eligible example joins."""
    return RATE / (1 - (BANDS - 1) * RATE)


def coefficients() -> list[float]:
    """The square root's."""
    found = [1.0]
    for i in range(1, BANDS):
        found.append(found[-1] * (2 * i - 1) / (2 * i))
    return found


def cpu_seconds() -> float:
    """Of this process and its workers."""
    return sum(os.times()[:4])


def least_noise(log_excess: Callable[[float], float], start: float, power: float) -> float:
    """Where the excess, which falls about like that power of the noise, is zero; from above."""
    noise = start
    for _ in range(6):
        step = log_excess(noise) / power
        if 0 <= -step < CLOSE:
            return noise
        noise *= math.exp(step + CLOSE / 4)
    return noise


def ours(delta: float, start: float) -> dict[str, Any]:
    """A verified noise, and the estimate that slack is relative to."""
    import hockeystick as hs

    sampling = hs.MinSep(rate=participation(), separation=BANDS)
    strategy = hs.strategies.from_coefficients(coefficients(), steps=STEPS)
    plan = hs.Plan(sampling=sampling, steps=STEPS, strategy=strategy)
    question = {"epsilon": EPSILON, "delta": delta}
    estimate = hs.estimate_noise(plan, start=start, seed=1, **question)
    begin = cpu_seconds()
    found = hs.calibrate(plan, method=hs.MonteCarlo(seed=2), **question)
    return {
        "noise": found.noise_multiplier,
        "estimate": estimate.noise_multiplier,
        "draws": found.guarantee.answer(delta=delta).details["draws"],
        "seconds": cpu_seconds() - begin,
    }


def jax_privacy(start: float) -> dict[str, Any]:
    """The least noise whose draws show at most the base delta; draws of the last noise."""
    import numpy as np
    from jax_privacy import batch_selection
    from jax_privacy.experimental.monte_carlo import delta_calculation, sample_generation

    begin, tried = cpu_seconds(), 0
    base = delta_calculation.get_base_delta(DRAWS, DELTA)
    scheme = batch_selection.BMinSepSampling(
        sampling_prob=participation(), iterations=STEPS, min_sep=BANDS
    )

    def excess(noise: float) -> float:
        nonlocal tried
        parts = [
            sample_generation.get_privacy_loss_sample(
                scheme, noise, np.array(coefficients()), seed=100 * tried + i, num_samples=CHUNK
            )[0]
            for i in range(DRAWS // CHUNK)
        ]
        tried += 1
        losses = np.concatenate(parts)
        return math.log(delta_calculation.delta_from_epsilon_and_samples(EPSILON, losses) / base)

    noise = least_noise(excess, start, 10.0)
    seconds = cpu_seconds() - begin
    needed = {
        f"{delta:g}": delta_calculation.minimum_samples_to_calibrate(0.9 * delta, delta)
        for delta in SMALL
    }
    return {
        "noise": noise,
        "draws": DRAWS,
        "seconds": seconds,
        "a_level": seconds / tried,
        "needed": needed,
    }


def opake(start: float) -> dict[str, Any]:
    """The least noise whose confidence band has the epsilon; the compiled accountant alone."""
    import importlib.machinery
    import importlib.util

    folder = Path(next(one for one in sys.path if one.endswith("site-packages")))
    path = str(folder / "opake/api/accounting/core/opake_accounting.abi3.so")
    loader = importlib.machinery.ExtensionFileLoader("opake_accounting", path)
    spec = importlib.util.spec_from_loader("opake_accounting", loader)
    assert spec is not None
    native = importlib.util.module_from_spec(spec)
    loader.exec_module(native)
    config = native.DiscretizationConfig(mc_resolution=DELTA / 10)
    begin, tried = cpu_seconds(), 0

    def excess(noise: float) -> float:
        nonlocal tried
        tried += 1
        found = native.bandmf_b_min_sep_warm_mc_pld(
            coefficients(), STEPS, participation(), noise, config
        )
        return math.log(found.delta_at(EPSILON) / DELTA)

    noise = least_noise(excess, start, 10.0)
    seconds = cpu_seconds() - begin
    needed = {
        f"{delta:g}": native.DiscretizationConfig(mc_resolution=delta / 10).resolved_num_mc_samples
        for delta in SMALL
    }
    return {
        "noise": noise,
        "draws": config.resolved_num_mc_samples,
        "seconds": seconds,
        "a_level": seconds / tried,
        "needed": needed,
    }


def asked(python: str, name: str, start: float) -> dict[str, Any]:
    """The same file in another environment."""
    command = [python, __file__, "--worker", name, "--start", str(start)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def rows_of(jax: str, opake_python: str) -> list[dict[str, Any]]:
    """One for each tool and delta."""
    rows, mine = [], ours(DELTA, 1.5)
    estimate = mine["estimate"]
    found = {"hockeystick": mine}
    found["jax-privacy"] = asked(jax, "jax", 1.02 * estimate)
    found["Opake"] = asked(opake_python, "opake", 1.02 * estimate)
    for name, one in found.items():
        rows.append({"tool": name, "delta": DELTA, **one, "slack": one["noise"] / estimate - 1})
    start = estimate
    for delta in SMALL:
        mine = ours(delta, 1.3 * start)
        start = mine["estimate"]
        rows.append(
            {"tool": "hockeystick", "delta": delta, **mine, "slack": mine["noise"] / start - 1}
        )
        for name in ("jax-privacy", "Opake"):
            draws = found[name]["needed"][f"{delta:g}"]
            seconds = found[name]["a_level"] * draws / found[name]["draws"]
            rows.append({"tool": name, "delta": delta, "draws": draws, "computed_seconds": seconds})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown; what was not run is in italics."""
    lines = ["| δ | tool | draws | seconds | noise | slack |", "|---|---|---|---|---|---|"]
    for row in rows:
        if "noise" in row:
            end = f"{row['seconds']:,.1f} | {row['noise']:.4f} | {100 * row['slack']:.2f} %"
        else:
            end = f"*{row['computed_seconds']:,.0f}* | – | –"
        lines.append(f"| {row['delta']:g} | {row['tool']} | {row['draws']:,} | {end} |")
    return "\n".join(lines)


def main() -> None:
    """Command line; as a worker one answer as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--jax", metavar="PYTHON", help="with jax-privacy")
    parser.add_argument("--opake", metavar="PYTHON", help="with opake")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write JSON")
    parser.add_argument("--worker", choices=("jax", "opake"), help=argparse.SUPPRESS)
    parser.add_argument("--start", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker = jax_privacy if options.worker == "jax" else opake
        print(json.dumps(worker(options.start)))
        return
    rows = rows_of(options.jax, options.opake)
    print(table(rows))
    if options.output is not None:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
