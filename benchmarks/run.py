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
from pathlib import Path

from cases import ANSWERS, CASES, OTHERS, OURS, Participant
from rich.console import Console
from verdicts import judge, show

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".peers"
LIMIT_SECONDS = 900


def interpreter(participant: Participant) -> Path:
    """The Python of the participant's environment, made if what it needs is not there yet."""
    if not participant.requirements:
        return Path(sys.executable)
    home = PEERS / participant.requirements[0].replace("==", "-")
    python, ready = home / "bin" / "python", home / "ready"
    wanted = "\n".join(participant.requirements)
    if not ready.exists() or ready.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *participant.requirements]
        subprocess.run(install, check=True)
        ready.write_text(wanted)
    return python


def measure(participant: Participant, case: str) -> dict:
    """One measurement; a failure or a time-out is a result too."""
    file = HERE / "participants" / participant.file
    command = [interpreter(participant), HERE / "harness.py", file, case, participant.repeats]
    each = CASES[case].seconds_per_call
    limit = LIMIT_SECONDS if each is None else each * participant.repeats
    try:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"timed out after {limit:g} s"}
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
