"""Answers for programs: one JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import typer

from hockeystick._version import __version__
from hockeystick.cli.answers import Answers
from hockeystick.cli.pricing import Row, best_of

__all__ = ["answers_object", "json_text", "print_json"]


def print_json(content: Mapping[str, Any]) -> None:
    """The object on standard output, with the version of the library."""
    typer.echo(json_text({**content, "version": __version__}))


def json_text(content: Mapping[str, Any]) -> str:
    """Valid JSON: an infinite number is the string "inf"."""
    return json.dumps(_finite(content), indent=2, allow_nan=False)


def answers_object(answers: Answers) -> dict[str, Any]:
    """What `--json` prints for a question."""
    results = {id(row): _result(row, answers.quantity) for row in answers.rows}
    best, priced = best_of(answers.rows)
    content: dict[str, Any] = {
        "plan": answers.plan,
        "question": {"quantity": answers.quantity, **answers.question},
        "adjacency": priced.guarantee.adjacency,
        "unit": priced.guarantee.unit,
        "results": list(results.values()),
        "best": results[id(best)],
    }
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
    if answers.plot is not None:
        content["plot"] = str(answers.plot)
    return content


def _result(row: Row, quantity: str) -> dict[str, Any]:
    result: dict[str, Any] = {"method": row.method, "kind": row.kind, quantity: row.value}
    result["lower"] = None if row.priced is None else row.priced.answer.lower
    result["seconds"] = round(row.seconds, 6)
    if row.priced is not None and row.priced.answer.details:
        result["details"] = dict(row.priced.answer.details)
    if row.priced is not None and row.priced.evaluations is not None:
        result["reached_epsilon"] = row.priced.reached_epsilon
        result["evaluations"] = row.priced.evaluations
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
