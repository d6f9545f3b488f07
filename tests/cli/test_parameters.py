"""Options are read from the schemes and strategies that are registered."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

from hockeystick.cli.parameters import further_options, names_of_strategies
from hockeystick.schemes import SCHEMES


def options(*known):
    """Parameters of the command line by name."""
    return {one.name: one for one in further_options(known, panel="")}


def test_every_parameter_of_a_scheme_is_an_option():
    """With a type, a text, and a value that stands for its absence."""
    found = options()
    for scheme in SCHEMES.values():
        assert {field.name for field in fields(scheme)} <= found.keys()
    for option in found.values():
        kind, details = get_args(option.annotation)
        assert option.default is (False if kind is bool else None)
        assert len(details.help) > 10
        assert details.help.endswith(".")
        assert "`" not in details.help


def test_known_options_are_not_repeated():
    """Those that the commands spell out themselves."""
    assert "rate" in options()
    assert "rate" not in options("rate")


def test_what_strategies_need():
    """Without it there is no strategy; what has a default is chosen by the scheme."""
    assert names_of_strategies() == {"bands", "buffers"}
