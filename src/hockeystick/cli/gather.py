"""Options that several commands share, as dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

import typer

__all__ = ["gathered"]


def gathered(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass replaced by the dataclass's fields.

    Typer reads options from the signature of a function. The returned function has one keyword for
    each field, gathers them into the dataclasses again and calls the command.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {n: inspect.signature(command).parameters[n] for n in hints if is_dataclass(hints[n])}
    members = {name: [field.name for field in fields(hints[name])] for name in groups}

    @wraps(command)
    def spread(**options: Any) -> None:
        for name, names in members.items():
            options[name] = hints[name](**{field: options.pop(field) for field in names})
        try:
            command(**options)
        except KeyboardInterrupt as interruption:
            # What was interrupted may say how to go on; Typer keeps only the exit status.
            if interruption.args:
                typer.echo(f"interrupted: {interruption}", err=True)
            raise

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters_of(hints[name])
        else:
            changed = parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
            parameters.append(changed)
    # Annotated types are evaluated already, so there is nothing left to look up by name.
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return spread


def _parameters_of(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default_of(field),
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _default_of(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
