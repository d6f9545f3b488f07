"""Numbers and errors as short texts, the same in the terminal and on the page."""

from __future__ import annotations

from cases import CASES, CAVEATS, US
from promises import Promise
from sweeps import Sweep

TOO_SMALL = "below a proven lower bound"


def number(value: float | None, digits: int = 4) -> str:
    """A few digits; a dash for nothing."""
    if value is None:
        return "-"
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text and value < 1e7 else text


def promised(promise: Promise) -> str:
    """The bound in words."""
    if promise.least is not None:
        return f"at least {number(promise.least)}"
    assert promise.most is not None
    return f"at most {number(promise.most)}"


def too_small(answer: dict, ours: dict | None, kind: str) -> bool:
    """An upper bound of epsilon below our proven lower bound."""
    if kind not in ("epsilon", "advantage") or ours is None or "error" in answer or "error" in ours:
        return False
    known = ours["lower"] is not None and answer["upper"] is not None
    return known and answer["upper"] < ours["lower"]


def case_row(name: str, who: str, answers: dict) -> list[str]:
    """Participant, bounds, gap, time, times ours, first call, memory, remark."""
    answer, case = answers[who], CASES[name]
    remark = CAVEATS.get((name, who), "")
    if "error" in answer:
        return [who, *["-"] * 7, answer["error"]]
    if too_small(answer, answers.get(US), case.answer):
        remark = f"{TOO_SMALL}; {remark}".strip("; ")
    lower, upper = answer["lower"], answer["upper"]
    seconds = case.typical(answer["seconds"])
    ours = answers.get(US, {}).get("seconds")
    gap = "-" if None in (lower, upper) else f"{100 * (upper / lower - 1):.2g} %"
    return [
        who,
        number(lower, 5),
        number(upper, 5),
        gap,
        number(seconds, 3),
        number(seconds / case.typical(ours), 3) if ours else "-",
        number(answer["seconds"][0], 3),
        f"{answer['peak_mb']:.0f}",
        remark,
    ]


CASE_COLUMNS = ("", "lower", "answer", "gap", "seconds", "times ours", "first call", "MB", "remark")


def sweep_row(sweep: Sweep, point: float, answers: dict) -> list[str]:
    """The point, and what each participant answers there."""
    ours = at(answers.get(US, []), point)
    cells = (_sweep_cell(at(points, point), ours, sweep.answer) for points in answers.values())
    return [f"{point:g}", *cells]


def _sweep_cell(answer: dict | None, ours: dict | None, kind: str) -> str:
    """Time, answer and memory at one point, or why there is none."""
    if answer is None:
        return "not asked"
    if "error" in answer:
        return answer["error"]
    seconds, upper = number(min(answer["seconds"]), 3), number(answer["upper"], 4)
    warning = f" ({TOO_SMALL})" if too_small(answer, ours, kind) else ""
    return f"{seconds} s, {answer['peak_mb']:.0f} MB: {upper}{warning}"


def at(points: list[dict], wanted: float) -> dict | None:
    """The answer at a point, if it was asked for."""
    return next((point for point in points if point["point"] == wanted), None)
