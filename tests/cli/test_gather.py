"""Options shared as dataclasses."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from hockeystick.cli import gathered


@dataclass(frozen=True, kw_only=True)
class Group:
    """Two options, one of them needed."""

    size: int
    name: str = "none"


def test_fields_become_parameters_in_place() -> None:
    """The signature holds the fields where the dataclass stood, with types and defaults."""

    @gathered
    def command(before: float, group: Group, after: bool = False) -> None:
        """Text for the help."""

    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["before", "size", "name", "after"]
    assert [p.annotation for p in parameters.values()] == [float, int, str, bool]
    assert [p.default for p in parameters.values()] == [
        inspect.Parameter.empty,
        inspect.Parameter.empty,
        "none",
        False,
    ]
    assert command.__doc__ == "Text for the help."


def test_the_command_gets_its_dataclass() -> None:
    """Values given by field arrive as one object; a missing one is an error."""
    seen: list[object] = []

    @gathered
    def command(group: Group, after: bool = False) -> None:
        seen.extend([group, after])

    command(size=3, name="x", after=True)
    assert seen == [Group(size=3, name="x"), True]
    with pytest.raises(TypeError, match="size"):
        command(name="x")
