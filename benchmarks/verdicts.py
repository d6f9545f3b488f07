"""The measurements as tables, and whether what we promise holds."""

from __future__ import annotations

from collections.abc import Iterator

from cases import (
    AGREEMENTS,
    CASES,
    LIMITS,
    MEMORY_LIMIT_MB,
    OURS,
    PROMISES,
    TIME_LIMITS,
    WITHIN,
)
from rich.console import Console
from rich.table import Table

# Longer lists of values are compared, not printed.
MOST_VALUES_SHOWN = 5

Verdict = tuple[bool, str]


def show(results: dict, console: Console) -> None:
    """A table with a row for each answer, and a line for each short list of values."""
    for case, answers in results.items():
        table = Table(title=CASES[case].title, title_justify="left")
        for column in ("", "lower", "answer", "seconds", "times ours", "first call", "peak MB"):
            table.add_column(column, justify="right" if column else "left")
        ours = _seconds(case, answers[OURS.name])
        for name, answer in answers.items():
            if "error" in answer:
                table.add_row(name, "-", "-", "-", "-", "-", answer["error"])
                continue
            seconds, first = _seconds(case, answer), answer["seconds"][0]
            times = (f"{seconds:.4g}", f"{seconds / ours:.3g}", f"{first:.4g}")
            peak = f"{answer['peak_mb']:.0f}"
            table.add_row(name, _text(answer["lower"]), _text(answer["upper"]), *times, peak)
        console.print(table)
        for name, answer in answers.items():
            values = answer.get("values", [])
            if 0 < len(values) <= MOST_VALUES_SHOWN:
                console.print(f"{name}: {', '.join(_text(value) for value in values)}")


def judge(results: dict, console: Console) -> bool:
    """Whether every promise that was measured is kept; each is printed."""
    verdicts = [*_speeds(results), *_limits(results), *_agreements(results), *_within(results)]
    peak = max(answers[OURS.name].get("peak_mb", 0) for answers in results.values())
    verdicts.append(
        (peak < MEMORY_LIMIT_MB, f"peak memory {peak:.0f} MB (promised: {MEMORY_LIMIT_MB})")
    )
    for good, text in verdicts:
        console.print(f"{'kept' if good else 'MISSED'}: {text}")
    return all(good for good, _ in verdicts)


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _seconds(case: str, answer: dict) -> float:
    return CASES[case].typical(answer.get("seconds", [float("nan")]))


def _measured(results: dict, case: str, *names: str) -> tuple[dict, ...] | None:
    """The answers of all these, if there is one from each."""
    answers = [results.get(case, {}).get(name, {}) for name in names]
    return tuple(answers) if all("seconds" in answer for answer in answers) else None


def _speeds(results: dict) -> Iterator[Verdict]:
    for promise in PROMISES:
        if answers := _measured(results, promise.case, OURS.name, promise.peer):
            ours, peer = (_seconds(promise.case, answer) for answer in answers)
            text = f"{promise.case}, {peer / ours:.1f} times as fast as {promise.peer}"
            yield peer / ours >= promise.ratio, f"{text} (promised: {promise.ratio:g})"


def _limits(results: dict) -> Iterator[Verdict]:
    for limit in LIMITS:
        if answers := _measured(results, limit.case, OURS.name):
            answer = answers[0]["upper"]
            text = f"{limit.case}, {answer:.3g} {limit.unit} (promised: at most {limit.most:g})"
            yield answer <= limit.most, text
    for allowed in TIME_LIMITS:
        if answers := _measured(results, allowed.case, OURS.name):
            seconds = _seconds(allowed.case, answers[0])
            text = f"{allowed.case}, {seconds:.3g} s (promised: less than {allowed.seconds:g})"
            yield seconds < allowed.seconds, text


def _agreements(results: dict) -> Iterator[Verdict]:
    for promise in AGREEMENTS:
        if answers := _measured(results, promise.case, OURS.name, promise.peer):
            pairs = zip(answers[0]["values"], answers[1]["values"], strict=True)
            worst = max(abs(ours / peer - 1) for ours, peer in pairs)
            text = f"{promise.case}, {worst:.1e} relative difference from {promise.peer}"
            yield worst <= promise.relative, f"{text} (promised: {promise.relative:g})"


def _within(results: dict) -> Iterator[Verdict]:
    for promise in WITHIN:
        if answers := _measured(results, promise.case, OURS.name, promise.peer):
            ours, lower, upper = answers[0]["upper"], answers[1]["lower"], answers[1]["upper"]
            bounds = f"[{lower:.5g}, {upper:.5g}] of {promise.peer}"
            inside = lower <= ours <= upper
            text = f"{promise.case}, {ours:.5g} {'within' if inside else 'outside'} {bounds}"
            yield inside, text
