"""Speed and accuracy against other libraries: one command, one run, ratios.

Each peer gets a virtual environment of its own under benchmarks/.peers. All participants answer the
same questions in turn on the same machine; only ratios are meant to carry over to another one. The
table and machine description are also written to benchmarks/results.json.

Usage: python benchmarks/run.py [CASE ...]
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".peers"
LIMIT_SECONDS = 900


@dataclass(frozen=True)
class Participant:
    """Somebody who answers cases: a file of cases and what it needs installed."""

    name: str
    file: str
    requirement: str | None
    repeats: int


@dataclass(frozen=True)
class Promise:
    """We answer `case` at least `ratio` times as fast as `peer`."""

    case: str
    peer: str
    ratio: float


@dataclass(frozen=True)
class Limit:
    """Our answer to `case`, in `unit`, is at most `most`."""

    case: str
    unit: str
    most: float


OURS = Participant("hockeystick", "hockeystick.py", None, 5)
OTHERS = (
    Participant("dp-accounting", "dp_accounting.py", "dp-accounting==0.6.0", 2),
    Participant("prv-accountant", "prv_accountant.py", "prv-accountant==0.2.0", 2),
    Participant("PLD-accounting", "pld_accounting.py", "PLD-accounting==2.0", 1),
    Participant("jax-privacy", "jax_privacy.py", "jax-privacy==2.0.0", 5),
)
CASES = {
    "poisson": "Poisson, noise 1, rate 0.01, 10,000 steps, delta 1e-6",
    "fifty phases": "50 noise levels, 1,000 Poisson steps each, delta 1e-6",
    "small noise": "Poisson, noise 0.05, rate 0.01, one step, delta 1e-6",
    "allocation": "random allocation, 1 out of 1,000, noise 1, delta 1e-6",
    "banded 16 bands": "best strategy with 16 bands, 2,000 steps: mean squared error",
    "banded 64 bands": "best strategy with 64 bands, 2,000 steps: mean squared error",
    "noise stream": "20 rows of noise, 1,000,000 parameters, 16 bands: memory over 16 rows",
}
ANSWERS = {
    "hockeystick": set(CASES),
    "dp-accounting": {"poisson", "fifty phases", "small noise"},
    "prv-accountant": {"poisson"},
    "PLD-accounting": {"allocation"},
    "jax-privacy": {"banded 16 bands", "banded 64 bands", "noise stream"},
}
PROMISES = (
    Promise("poisson", "dp-accounting", 1.0),
    Promise("poisson", "prv-accountant", 10.0),
    Promise("fifty phases", "dp-accounting", 10.0),
    Promise("small noise", "dp-accounting", 10.0),
    Promise("allocation", "PLD-accounting", 50.0),
    Promise("banded 16 bands", "jax-privacy", 10.0),
    Promise("banded 64 bands", "jax-privacy", 10.0),
    Promise("noise stream", "jax-privacy", 2.0),
)
LIMITS = (Limit("noise stream", "times the memory of bands x parameters numbers", 1.2),)
MEMORY_LIMIT_MB = 300


def interpreter(participant: Participant) -> Path:
    """The Python of the participant's environment, made if it is not there yet."""
    if participant.requirement is None:
        return Path(sys.executable)
    home = PEERS / participant.requirement.replace("==", "-")
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", participant.requirement]
        subprocess.run(install, check=True)
        (home / "ready").touch()
    return python


def measure(participant: Participant, case: str) -> dict:
    """One measurement; a failure or a time-out is a result too."""
    file = HERE / "participants" / participant.file
    command = [interpreter(participant), HERE / "harness.py", file, case, participant.repeats]
    try:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {LIMIT_SECONDS} s"}
    except subprocess.CalledProcessError as failure:
        return {"error": failure.stderr.strip().splitlines()[-1][:200]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def run(cases: list[str]) -> dict:
    """All measurements, case by case, so that all answers to one question are close in time."""
    results: dict = {}
    for case in cases:
        for participant in (OURS, *OTHERS):
            if case in ANSWERS[participant.name]:
                print(f"{case}: {participant.name} ...", file=sys.stderr, flush=True)
                results.setdefault(case, {})[participant.name] = measure(participant, case)
    return results


def show(results: dict, console: Console) -> None:
    """A table with a row for each answer."""
    for case, answers in results.items():
        table = Table(title=CASES[case], title_justify="left")
        for column in ("", "lower", "answer", "seconds", "times ours", "first call", "peak MB"):
            table.add_column(column, justify="right" if column else "left")
        ours = min(answers[OURS.name].get("seconds", [float("nan")]))
        for name, answer in answers.items():
            if "error" in answer:
                table.add_row(name, "-", "-", "-", "-", "-", answer["error"])
                continue
            first, seconds = answer["seconds"][0], min(answer["seconds"])
            lower = "-" if answer["lower"] is None else f"{answer['lower']:.5g}"
            times = (f"{seconds:.4g}", f"{seconds / ours:.3g}", f"{first:.4g}")
            peak = f"{answer['peak_mb']:.0f}"
            table.add_row(name, lower, f"{answer['upper']:.5g}", *times, peak)
        console.print(table)


def judge(results: dict, console: Console) -> bool:
    """Whether every promise that was measured is kept; each is printed."""
    verdicts = [*_speeds(results), *_limits(results)]
    peak = max(answers[OURS.name].get("peak_mb", 0) for answers in results.values())
    verdicts.append(
        (peak < MEMORY_LIMIT_MB, f"peak memory {peak:.0f} MB (promised: {MEMORY_LIMIT_MB})")
    )
    for good, text in verdicts:
        console.print(f"{'kept' if good else 'MISSED'}: {text}")
    return all(good for good, _ in verdicts)


def _speeds(results: dict) -> Iterator[tuple[bool, str]]:
    for promise in PROMISES:
        answers = results.get(promise.case, {})
        ours, peer = answers.get(OURS.name, {}), answers.get(promise.peer, {})
        if "seconds" in ours and "seconds" in peer:
            ratio = min(peer["seconds"]) / min(ours["seconds"])
            text = f"{promise.case}, {ratio:.1f} times as fast as {promise.peer}"
            yield ratio >= promise.ratio, f"{text} (promised: {promise.ratio:g})"


def _limits(results: dict) -> Iterator[tuple[bool, str]]:
    for limit in LIMITS:
        answer = results.get(limit.case, {}).get(OURS.name, {}).get("upper")
        if answer is not None:
            text = f"{limit.case}, {answer:.3g} {limit.unit} (promised: at most {limit.most:g})"
            yield answer <= limit.most, text


def machine() -> dict:
    """What the numbers were measured on."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }


def main(names: list[str]) -> int:
    """Run, show, keep."""
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"error: unknown case {unknown[0]!r}; cases: {', '.join(CASES)}", file=sys.stderr)
        return 2
    results = run(names or list(CASES))
    console = Console(width=110)
    show(results, console)
    kept = judge(results, console)
    if not names:
        text = json.dumps({"machine": machine(), "results": results}, indent=2)
        (HERE / "results.json").write_text(text + "\n")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
