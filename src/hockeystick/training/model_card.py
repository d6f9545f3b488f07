"""A privacy statement in words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context
from typing import Any

from hockeystick.guarantee import Kind
from hockeystick.training.plan_object import label_of
from hockeystick.training.statements import Statement

__all__ = ["paragraph"]

# Of epsilon, rounded up: half a thousandth at most.
DIGITS = 4
HOW_KNOWN: dict[Kind, str] = {
    "proven": "The bound is proven",
    "verified": (
        "The claim was verified by simulation before the run, with its failure probability inside "
        "delta"
    ),
    "confidence": "NOT A GUARANTEE: the number is a statistical confidence bound",
    "asymptotic": (
        "NOT A PROVEN GUARANTEE: the number is an asymptotic approximation and the true epsilon "
        "can be far above it"
    ),
    "conjectured": "NOT A PROVEN GUARANTEE: the number rests on a conjecture",
}


def paragraph(statement: Statement) -> str:
    """The statement as one paragraph for a model card; epsilon is rounded up."""
    return " ".join(
        (
            _claim(statement),
            _known(statement),
            _run(statement),
            _independence(statement),
            _end(statement),
            _limits(statement),
        )
    )


def _claim(statement: Statement) -> str:
    hedged = statement.kind in ("asymptotic", "conjectured", "confidence")
    verb = "is claimed, without proof, to be" if hedged else "is"
    return (
        f"Training {verb} (ε = {_rounded_up(statement.epsilon)}, δ = {statement.delta:g})-"
        f"differentially private for each {statement.unit}, under {statement.adjacency} adjacency."
    )


def _known(statement: Statement) -> str:
    note = "" if statement.note is None else f"; {statement.note}"
    return f"{HOW_KNOWN[statement.kind]} (method: {statement.method}{note})."


def _run(statement: Statement) -> str:
    strategy = label_of(statement.strategy)
    independent = strategy.get("factorization") == "identity"
    noise = "independent noise" if independent else f"noise correlated by {_named(strategy)}"
    start = "" if statement.filter is None else "at first "
    return (
        f"Batches were drawn by {_named(statement.scheme)} sampling, gradients clipped to norm "
        f"{statement.max_grad_norm:g}, and {noise} with noise multiplier "
        f"{statement.noise_multiplier:g} {start}added."
    )


def _independence(statement: Statement) -> str:
    if statement.probe is None:
        return "Whether examples of a batch influence each other was not probed."
    loaded = statement.probe["inputs_as_loaded"]
    loop = "" if loaded else "; what the loop did to batches before the model saw them was not"
    return (
        f"Up to step {statement.probe['step']:,} the independence of the examples of a batch was "
        f"probed{loop}, and no influence of one on another was found."
    )


def _end(statement: Statement) -> str:
    taken, planned = statement.taken_steps, statement.planned_steps
    counted = f"{taken:,} of {planned:,} planned steps were taken"
    if statement.filter is not None:
        return (
            f"A privacy filter ({_named(statement.filter)}) limited the run and could stop it: "
            f"{counted}, and epsilon is that of the filter's whole budget."
        )
    if taken == planned:
        return f"All {planned:,} planned steps were taken."
    return (
        f"{counted}; epsilon accounts for all planned steps, because stopping early on what was "
        "seen saves nothing without a filter."
    )


def _limits(statement: Statement) -> str:
    secret = (
        " The random seed was chosen by whoever ran it; the guarantee needs it to be secret."
        if statement.seeded
        else ""
    )
    versions = ", ".join(f"{name} {number}" for name, number in statement.versions.items())
    return (
        "The statement is about this one run: other runs on the same data, such as a search for "
        f"hyperparameters, are not in it.{secret} Software: {versions}."
    )


def _named(described: Mapping[str, Any]) -> str:
    """The name, which comes first, with the parameters in parentheses."""
    if not described:
        return "unnamed"
    (_, name), *parameters = described.items()
    inside = ", ".join(_parameter(key, value) for key, value in parameters if value is not False)
    return f"{name} ({inside})" if inside else f"{name}"


def _parameter(name: str, value: object) -> str:
    words = name.replace("_", " ")
    if value is True:
        return words
    return f"{words} {value:g}" if isinstance(value, float) else f"{words} {value}"


def _rounded_up(value: float) -> str:
    """Four digits, never below the number."""
    rounded = Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal(value)
    return f"{float(rounded):.{DIGITS}g}"
