"""Options are read from the schemes and strategies that are registered."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import ClassVar, get_args

import hockeystick as hs
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
        _, details = get_args(option.annotation)
        assert option.default is None
        assert len(details.help) > 10
        assert details.help.endswith(".")
        assert "`" not in details.help


def test_known_options_are_not_repeated():
    """Those that the commands spell out themselves."""
    assert "rate" in options()
    assert "rate" not in options("rate")


def test_what_strategies_need():
    """Without it there is no strategy; what has a default is chosen by the scheme."""
    assert names_of_strategies() == {"bands", "buffers", "decay"}


def test_switches_are_spelled_as_the_scheme_says():
    """Most can only be switched on; a warm start has a name for its opposite."""
    flags = {name: get_args(one.annotation)[1].default for name, one in options().items()}
    assert flags["truncate"] == "--truncate"
    assert flags["warm_start"] == "--warm-start/--cold-start"


def test_a_scheme_that_is_registered_late_has_its_options(monkeypatch):
    """Commands work out their options when they are read, not when they are imported."""
    from hockeystick.cli.noise import calibrate

    @dataclass(frozen=True, kw_only=True)
    class Late(hs.Poisson):
        """Poisson sampling with another parameter.

        Parameters
        ----------
        patience
            How long one waits. Nobody knows.
        """

        name: ClassVar[str] = "late"
        patience: int = 1

    before = inspect.signature(calibrate).parameters
    monkeypatch.setitem(SCHEMES, "late", Late)
    after = inspect.signature(calibrate).parameters
    assert after.keys() - before.keys() == {"patience"}
    assert get_args(after["patience"].annotation)[1].help == "How long one waits."
