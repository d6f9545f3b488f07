"""Speed, memory and accuracy against other libraries: one command, one run, ratios.

Each peer gets a virtual environment of its own under benchmarks/.peers. All participants answer the
same questions in turn on the same machine; only ratios are meant to carry over to another one. A
complete run writes benchmarks/results.json, docs/benchmarks.md and docs/images/bench.png. Answers
are kept in benchmarks/partial.json after every question, also if the run is interrupted.

Usage: python benchmarks/run.py [--list | --redraw | [--again] QUESTION ...]
A question is a case or a sweep; --list shows them, --redraw makes page and picture from
results.json. With --again the answers of some questions, of all their participants, take the place
of those in results.json, and the page says which these are.
"""

from __future__ import annotations

import signal
import sys
import time

from rich.console import Console

import keeping
from cases import CASES
from environments import Environments
from measuring import Allowance, measure
from roster import PARTICIPANTS
from sweeps import CALL_SECONDS, ENOUGH_SECONDS, START_SECONDS, SWEEPS
from tables import show_case, show_machine, show_sweep, show_verdicts
from verdicts import verdicts

QUESTIONS = (*CASES, *SWEEPS)


def run_case(name: str, environments: Environments) -> dict[str, dict]:
    """The answers of all participants, one after the other, so that they are close in time."""
    case, answers = CASES[name], {}
    for who in case.participants:
        participant = PARTICIPANTS[who]
        _say(f"{name}: {who}")
        allowance = Allowance(case.repeats or participant.repeats, case.limit_seconds)
        answers[who] = measure(participant, name, allowance=allowance, environments=environments)
    return answers


def run_sweep(name: str, environments: Environments) -> dict[str, list[dict]]:
    """Point by point; whoever fails or takes too long is not asked for more."""
    sweep = SWEEPS[name]
    answers: dict[str, list[dict]] = {who: [] for who in sweep.participants}
    allowance = Allowance(3, CALL_SECONDS + START_SECONDS, ENOUGH_SECONDS)
    for point in sweep.points:
        for who, points in answers.items():
            if points and "error" in points[-1]:
                continue
            _say(f"{name} = {point:g}: {who}")
            answer = measure(
                PARTICIPANTS[who], name, allowance=allowance, environments=environments, point=point
            )
            points.append({"point": point, **answer})
    return answers


def run(names: list[str]) -> dict:
    """All answers, kept after each question."""
    start = time.perf_counter()
    environments = Environments()
    found = {"machine": keeping.machine(), "cases": {}, "sweeps": {}}
    for name in names:
        if name in CASES:
            found["cases"][name] = run_case(name, environments)
        else:
            found["sweeps"][name] = run_sweep(name, environments)
        found["environments"] = environments.described
        found["minutes"] = round((time.perf_counter() - start) / 60, 1)
        keeping.write(found, keeping.PARTIAL)
    return found


def publish() -> None:
    """The page and the picture of the kept results."""
    from page import write_page
    from picture import draw

    found = keeping.read()
    write_page(found)
    draw(found)


def show(found: dict, console: Console) -> None:
    """Everything that was measured, then what was promised about it."""
    show_machine(found, console)
    for name, answers in found["cases"].items():
        show_case(name, answers, console)
    for name, answers in found["sweeps"].items():
        show_sweep(name, answers, console)
    judged = [v for v in verdicts(found["cases"]) if v.promise.case in found["cases"]]
    show_verdicts(judged, console)


def main(arguments: list[str]) -> int:
    """Run, show, keep. The status is 0 if the run went through, whatever it found."""
    if arguments == ["--list"]:
        for name, question in {**CASES, **SWEEPS}.items():
            print(f"{name:20} {question.title}")
        return 0
    if arguments == ["--redraw"]:
        publish()
        return 0
    again = arguments[:1] == ["--again"]
    arguments = arguments[again:]
    unknown = [name for name in arguments if name not in QUESTIONS]
    if unknown:
        known = ", ".join(QUESTIONS)
        print(f"error: unknown question {unknown[0]!r}; known: {known}", file=sys.stderr)
        return 2
    try:
        found = run(arguments or list(QUESTIONS))
    except KeyboardInterrupt:
        print(f"interrupted; what was measured is in {keeping.PARTIAL.name}", file=sys.stderr)
        return 130
    show(found, Console(width=120))
    if again:
        found = keeping.renewed(keeping.read(), found)
    if again or not arguments:
        keeping.write(found, keeping.COMPLETE)
        publish()
    return 0


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Also where it was started without a terminal, or is asked to end.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
