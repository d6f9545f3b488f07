"""Numbers at the ends of floating point on the command line: an answer, or one line."""

from __future__ import annotations

import itertools

import pytest

from hockeystick.cli.main import main
from hypothesis_strategies import thinned
from in_one_test import in_one_test

EXTREME = ["0", "-1", "nan", "inf", "1e-320", "1e300", "9" * 30]
FILTERS = {"--epsilon": "2", "--delta": "1e-5", "--expected": "0.01,1,1"}
EPSILON = {"--sampling": "poisson", "--rate": "0.01", "--steps": "3", "--noise-multiplier": "1"}
DELTA = {"--sampling": "balls-in-bins", "--bins": "3", "--steps": "3", "--noise-multiplier": "1"}
COMMANDS = {
    "filters": FILTERS,
    "epsilon": {**EPSILON, "--delta": "1e-5"},
    "delta": {**DELTA, "--epsilon": "1"},
    "tradeoff": EPSILON,
}


def outcome(capsys, command, option, value):
    """The exit status and the lines on standard error."""
    arguments = [command]
    for name, usual in COMMANDS[command].items():
        arguments += [name, value if name == option else usual]
    status = main(arguments)
    return status, capsys.readouterr().err.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("value", thinned(["1e-8", "1e-320", "1e-300", "1e-20"], normal=1))
def test_filters_at_tiny_rates(capsys, value):
    """A rate that small costs next to nothing, which is an answer."""
    assert outcome(capsys, "filters", "--expected", f"{value},1,1") == (0, [])


@pytest.mark.parametrize("value", ["1e-300", "1e-60", "1e60"])
def test_filters_at_noise_beyond_the_range(capsys, value):
    """One line with the range."""
    status, lines = outcome(capsys, "filters", "--expected", f"0.01,{value},1")
    assert status == 2
    assert lines == [
        f"error: noise_multiplier in --expected must be in [1e-50, 1e+50], got {float(value)}."
    ]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("value", ["1e50", "1e9"])
def test_filters_at_a_huge_epsilon(capsys, value):
    """Nearly everything is allowed, which is an answer."""
    assert outcome(capsys, "filters", "--epsilon", value) == (0, [])


def cases():
    """Every option of every command with every number; filters take 10 s for 10^9 steps."""
    options = [
        (command, option)
        for command, options in COMMANDS.items()
        for option in options
        if option not in ("--sampling", "--expected")
        and (command, option) != ("filters", "--epsilon")
    ]
    options += [("filters", "rate"), ("filters", "noise"), ("filters", "steps")]
    seldom = {("filters", "rate", "1e-320"), ("filters", "noise", "9" * 30)}
    for option, value in itertools.product(options, [*EXTREME, "1e-300", "1e50"]):
        one = *option, value
        rare = value not in EXTREME or one in seldom
        yield pytest.param(*one, marks=pytest.mark.long) if rare else one


@in_one_test
@pytest.mark.slow
@pytest.mark.parametrize(("command", "option", "value"), list(cases()))
def test_at_most_one_line(capsys, command, option, value):
    """0 and no complaint, or one line: 2 for a number out of range, 1 for one not computable."""
    parts = {"rate": f"{value},1,1", "noise": f"0.01,{value},1", "steps": f"0.01,1,{value}"}
    if option in parts:
        option, value = "--expected", parts[option]
    status, lines = outcome(capsys, command, option, value)
    assert (status, len(lines)) in ((0, 0), (2, 1), (1, 1))
    if status == 1:
        assert "too small for floating point" in lines[0]
