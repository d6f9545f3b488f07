"""Record the snapshot: `python tests/snapshot/record.py [--only TEXT] [--full] [--output FILE]`.

Without `--full` the questions of the long test run are left out and keep the numbers that are
recorded; `--only` asks those whose names contain a text. To be run against the code whose numbers
are to be kept (PYTHONPATH), never to make a failing test pass.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

SECONDS = Path(tempfile.gettempdir()) / "snapshot_seconds.json"


def arguments() -> argparse.Namespace:
    """What is chosen for on the command line."""
    parser = argparse.ArgumentParser(description="Record the numbers of the snapshot.")
    parser.add_argument("--only", default="", help="questions whose names contain this text")
    parser.add_argument("--full", action="store_true", help="the long questions as well")
    parser.add_argument("--output", type=Path, help="another file than numbers.json")
    return parser.parse_args()


def main() -> None:
    """Ask, and write numbers and CPU seconds."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from snapshot.catalogue import QUESTIONS, RECORDED

    given = arguments()
    output = given.output or RECORDED
    numbers = json.loads(output.read_text()) if output.exists() else {}
    seconds = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    chosen = [
        question
        for question in QUESTIONS.values()
        if given.only in question.name and (given.full or not question.long)
    ]
    for question in chosen:
        start = time.process_time()
        numbers[question.name] = question.ask()
        seconds[question.name] = time.process_time() - start
    kept = {name: numbers[name] for name in QUESTIONS if name in numbers}
    output.write_text(json.dumps(kept, indent=1) + "\n")
    SECONDS.write_text(json.dumps(seconds, indent=1) + "\n")
    count = sum(len(numbers[question.name]) for question in chosen)
    spent = sum(seconds[question.name] for question in chosen)
    sys.stdout.write(f"{len(chosen)} questions, {count} numbers, {spent:.1f} s of CPU\n")


if __name__ == "__main__":
    # Keys of checkpoints are made in a folder of this run, not in the user's.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        main()
