"""What commands print: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from hockeystick._version import __version__
from hockeystick.bounds.risk import USUAL_PRIOR, USUAL_RATE, RiskBounds
from hockeystick.cli.answers import Answers, MethodAnswer, Row, best_of
from hockeystick.report import count_text, lower_text, upper_text

__all__ = ["answers_object", "json_text", "plan_text", "print_answers", "print_json", "stdout"]


def print_json(content: Mapping[str, Any]) -> None:
    """The object on standard output, with the version of the library."""
    typer.echo(json_text({**content, "version": __version__}))


def json_text(content: Mapping[str, Any]) -> str:
    """Valid JSON: an infinite number is the string "inf"."""
    return json.dumps(_finite(content), indent=2, allow_nan=False)


def answers_object(answers: Answers) -> dict[str, Any]:
    """What `--json` prints for a question."""
    results = {id(row): _result(row, answers.quantity) for row in answers.rows}
    best, result = best_of(answers.rows)
    content: dict[str, Any] = {
        "plan": answers.plan,
        "question": {"quantity": answers.quantity, **answers.question},
        "adjacency": result.guarantee.adjacency,
        "unit": result.guarantee.unit,
        "results": list(results.values()),
        "best": results[id(best)],
    }
    if result.guarantee.left_out:
        content["left_out"] = dict(result.guarantee.left_out)
    if answers.baselines:
        content["baselines"] = [
            {
                "name": baseline.name,
                "summary": baseline.summary,
                answers.quantity: baseline.value,
                "seconds": round(baseline.seconds, 6),
            }
            for baseline in answers.baselines
        ]
    if answers.risks is not None:
        content["risk"] = _risk_object(answers.risks)
    if answers.plot is not None:
        content["plot"] = str(answers.plot)
    return content


def _result(row: Row, quantity: str) -> dict[str, Any]:
    result: dict[str, Any] = {"method": row.method, "kind": row.kind, quantity: row.value}
    result["lower"] = None if row.result is None else row.result.answer.lower
    result["seconds"] = round(row.seconds, 6)
    if row.result is not None and row.result.answer.details:
        result["details"] = dict(row.result.answer.details)
    if row.result is not None and row.result.evaluations is not None:
        result["reached_epsilon"] = row.result.reached_epsilon
        result["evaluations"] = row.result.evaluations
    if row.error is not None:
        result["error"] = row.error
    return result


def _finite(value: Any) -> Any:
    """The value with every infinite float as a string, all the way down."""
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


Cell = Callable[[Row], str]
T = TypeVar("T")


def stdout() -> Console:
    """Standard output; colours on a terminal only, and nothing in the text is markup."""
    return Console(markup=False, highlight=False, soft_wrap=True)


def print_answers(answers: Answers) -> None:
    """The question, a table with a row for each method, and what the numbers mean."""
    console = stdout()
    best, result = best_of(answers.rows)
    console.print(plan_text(answers.plan), style="bold")
    console.print(_question_text(answers.question), style="bold")
    console.print(_table(answers, best), soft_wrap=False)
    for row in answers.rows:
        if row.error is not None:
            console.print(f"{row.method}: {row.error}")
        if row.result is not None and row.result.answer.details:
            facts = dict(row.result.answer.details)
            note = str(facts.pop("note", None) or "")
            shown = (_parameter(name, value) for name, value in facts.items() if value is not False)
            text = "; ".join(filter(None, (", ".join(shown), note)))
            console.print(f"{row.method}: {text}", style="dim")
    guarantee = result.guarantee
    if guarantee.left_out:
        reasons = "; ".join(f"{name} ({why})" for name, why in guarantee.left_out.items())
        console.print(f"auto left out: {reasons}", style="dim")
    console.print(
        f"adjacency: {guarantee.adjacency}; unit: {guarantee.unit}; "
        f"direction: {answers.question['direction']}"
    )
    if answers.risks is not None:
        console.print(_risk_text(answers.risks))
    if answers.baselines:
        console.print("\nfor comparison, not guarantees of this run:", style="bold")
        console.print(_baselines(answers), soft_wrap=False)
    if answers.plot is not None:
        console.print(f"plot written to {answers.plot}")


def plan_text(plan: Mapping[str, Any]) -> str:
    """A plan in one line, such as "poisson (rate 0.01), bsr (bands 16), 2,000 steps"."""
    text = _named(plan["sampling"])
    if plan["strategy"]["factorization"] != "identity":
        text += f", {_named(plan['strategy'])}"
    text += f", {count_text(plan['steps'])} steps"
    if "expected_batch_size" in plan:
        text += f", expected batch size {plan['expected_batch_size']:g}"
    return text


def _named(described: Mapping[str, Any]) -> str:
    """The name, which comes first, with the parameters in parentheses."""
    (_, name), *parameters = described.items()
    inside = ", ".join(_parameter(name, value) for name, value in parameters if value is not False)
    return f"{name} ({inside})" if inside else f"{name}"


def _parameter(name: str, value: object) -> str:
    if value is True:
        return _words(name)
    return f"{_words(name)} {value:g}" if isinstance(value, float) else f"{_words(name)} {value}"


def _question_text(question: Mapping[str, float | str]) -> str:
    numbers = {name: value for name, value in question.items() if not isinstance(value, str)}
    return ", ".join(f"{_words(name)} {value:g}" for name, value in numbers.items())


def _table(answers: Answers, best: Row) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    columns = _columns(answers, best)
    for title, _ in columns:
        left = title in ("method", "kind", "")
        table.add_column(title, justify="left" if left else "right", no_wrap=title == "method")
    for row in answers.rows:
        cells = (cell(row) for _, cell in columns)
        table.add_row(*cells, style="bold green" if row is best else None)
    return table


def _baselines(answers: Answers) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("baseline")
    table.add_column(_words(answers.quantity), justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("what it is")
    for line in answers.baselines:
        number = upper_text(line.value)
        table.add_row(line.name, number, f"{line.seconds:.2f}", line.summary)
    return table


def _columns(answers: Answers, best: Row) -> list[tuple[str, Cell]]:
    """Titles and cells; a column in which no row has anything is left out."""
    columns: list[tuple[str, Cell]] = [
        ("method", lambda row: row.method),
        ("kind", lambda row: row.kind),
        (_words(answers.quantity), _cell(lambda p: upper_text(p.answer.value), otherwise="-")),
        ("lower bound", _cell(lambda p: _optional(p.answer.lower, lower_text))),
        ("epsilon", _cell(lambda p: _optional(p.reached_epsilon, upper_text))),
        ("evaluations", _cell(lambda p: _optional(p.evaluations, str))),
        ("seconds", lambda row: f"{row.seconds:.2f}"),
        ("", lambda row: "best" if row is best else ""),
    ]
    return [(title, cell) for title, cell in columns if any(cell(row) for row in answers.rows)]


def _cell(read: Callable[[MethodAnswer], str], otherwise: str = "") -> Cell:
    return lambda row: otherwise if row.result is None else read(row.result)


def _optional(value: T | None, text: Callable[[T], str]) -> str:
    return "" if value is None else text(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _risk_object(risks: Mapping[str, RiskBounds]) -> dict[str, Any]:
    """Lower and upper bounds by name, and what they are asked at."""
    bounds = {name: one._asdict() for name, one in risks.items()}
    return {"false_positive_rate": USUAL_RATE, "prior": USUAL_PRIOR, **bounds}


def _risk_text(risks: Mapping[str, RiskBounds]) -> str:
    """What the best attack achieves, in a line."""
    advantage, rate, risk = (risks[n] for n in ("advantage", "true_positive_rate", "bayes_risk"))
    return (
        f"risk: advantage {_interval(advantage)}; true positive rate {_interval(rate)} at "
        f"false positive rate {USUAL_RATE:g}; Bayes risk {_interval(risk)} at prior "
        f"{USUAL_PRIOR:g}"
    )


def _interval(bounds: RiskBounds) -> str:
    """Both sides, or the one that is known."""
    lower, upper = bounds
    if lower is None:
        assert upper is not None
        return f"<= {upper_text(upper)}"
    return f">= {lower_text(lower)}" + ("" if upper is None else f" and <= {upper_text(upper)}")
