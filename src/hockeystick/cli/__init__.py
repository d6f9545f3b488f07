"""The command `hockeystick`; nothing in the library imports it.

Here options that several commands share, as dataclasses, and the parts of the help they are in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, update_wrapper
from typing import Any, TypeVar, get_type_hints

import typer

__all__ = ["Command", "gathered", "options_of", "spelled_out", "taken_from"]


# The parts of the help.
RUN, QUESTION, DRAWS, OUTPUT = "The run", "The question", "Draws", "Output"

Group = TypeVar("Group")


class Command:
    """A command for Typer whose options are worked out when Typer reads its signature.

    Schemes and strategies that are registered until then have theirs. The command has the name and
    the help of the function `original`.
    """

    __name__: str

    def __init__(
        self,
        original: Callable[..., None],
        call: Callable[..., None],
        parameters: Callable[[], list[inspect.Parameter]],
    ) -> None:
        update_wrapper(self, original, ("__module__", "__name__", "__qualname__", "__doc__"), ())
        self._call = call
        self._parameters = parameters

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature(self._parameters())

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        # Annotated types are evaluated already, so there is nothing left to look up by name.
        return {parameter.name: parameter.annotation for parameter in self._parameters()}

    def __call__(self, **options: Any) -> None:
        """Run it with one value for each option."""
        self._call(**options)


def gathered(command: Callable[..., None]) -> Command:
    """The command with each parameter that is a dataclass replaced by the dataclass's fields.

    Typer reads options from a signature. The returned command has one keyword for each field,
    gathers them into the dataclasses again and calls the function. A field that is a dataclass
    itself stands for its own fields. A field whose metadata has "spread" stands for several
    options: it is the dictionary of the parameters that the function under that key returns.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = [name for name, hint in hints.items() if is_dataclass(hint)]

    def call(**options: Any) -> None:
        for name in groups:
            options[name] = taken_from(options, hints[name])
        try:
            command(**options)
        except KeyboardInterrupt as interruption:
            # What was interrupted may say how to go on; Typer keeps only the exit status.
            if interruption.args:
                typer.echo(f"interrupted: {interruption}", err=True)
            raise

    def parameters() -> list[inspect.Parameter]:
        found: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            if name in groups:
                found += options_of(hints[name])
            else:
                changed = parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
                found.append(changed)
        return found

    return Command(command, call, parameters)


def options_of(group: type[Any]) -> list[inspect.Parameter]:
    """All options that a dataclass stands for."""
    return [one for _, several in _members_of(group) for one in several]


def spelled_out(group: type[Any]) -> list[inspect.Parameter]:
    """The options that have fields of their own, in the dataclass or in one inside it."""
    return [
        one
        for field in fields(group)
        if not _stands_for_several(field)
        for one in _options_of_field(field, _hints_of(group)[field.name])  # type: ignore[arg-type]
    ]


def taken_from(options: dict[str, Any], group: type[Group]) -> Group:
    """The dataclass, from options that are taken out of the dictionary."""
    values: dict[str, Any] = {}
    for field, parameters in _members_of(group):
        given = {one.name: options.pop(one.name) for one in parameters if one.name in options}
        inner = _hints_of(group)[field.name]  # type: ignore[arg-type]  # classes are hashable
        if is_dataclass(inner):
            values[field.name] = taken_from(given, inner)  # type: ignore[arg-type]  # a class
        else:
            values.update({field.name: given} if _stands_for_several(field) else given)
    return group(**values)


def _members_of(group: type[Any]) -> list[tuple[Field[Any], list[inspect.Parameter]]]:
    """The fields of a dataclass, each with its options."""
    hints = _hints_of(group)  # type: ignore[arg-type]  # classes are hashable
    return [(field, _options_of_field(field, hints[field.name])) for field in fields(group)]


def _options_of_field(field: Field[Any], hint: Any) -> list[inspect.Parameter]:
    if _stands_for_several(field):
        several: list[inspect.Parameter] = field.metadata["spread"]()
        return several
    if is_dataclass(hint):
        return options_of(hint)  # type: ignore[arg-type]  # a class
    kind, default = inspect.Parameter.KEYWORD_ONLY, _default_of(field)
    return [inspect.Parameter(field.name, kind, default=default, annotation=hint)]


@cache  # Typer reads every signature several times
def _hints_of(group: type[Any]) -> dict[str, Any]:
    return get_type_hints(group, include_extras=True)


def _stands_for_several(field: Field[Any]) -> bool:
    return "spread" in field.metadata


def _default_of(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
