"""Hooks for commands, strategies, filters and analyses refuse what would go wrong later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.analyses import METHODS, convolution
from hockeystick.analyses import register as register_method
from hockeystick.bounds import UpperBound
from hockeystick.cli.main import app
from hockeystick.cli.main import register as register_command
from hockeystick.cli.noise import epsilon
from hockeystick.errors import InvalidParameter
from hockeystick.filters.registry import registered
from hockeystick.guarantee import Analysis
from hockeystick.strategies import FACTORIZATIONS
from in_one_test import in_one_test

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)
PROFILE = convolution.PROFILE
NO_FUNCTIONS = [5, None, "epsilon", dict, lambda: None, partial(print)]


def ledger() -> None:
    """The name of a group."""


def bsr() -> None:
    """The name of a strategy."""


@pytest.mark.parametrize("wrong", NO_FUNCTIONS)
def test_what_is_no_function_with_a_name(wrong: Any) -> None:
    """Neither a command nor a strategy."""
    commands, strategies = len(app.registered_commands), dict(FACTORIZATIONS)
    with pytest.raises(InvalidParameter, match="command must be a function with a name"):
        register_command(wrong)
    with pytest.raises(InvalidParameter, match="factorization must be a function with a name"):
        hs.strategies.register(wrong)
    assert len(app.registered_commands) == commands
    assert strategies == FACTORIZATIONS


@pytest.mark.parametrize("name", ["epsilon", "Epsilon", "ledger"])
def test_names_of_commands_are_taken_once(name: str) -> None:
    """By a command or by a group; the same function may come again."""

    def other() -> None:
        """Another function."""

    other.__name__ = name
    before = list(app.registered_commands)
    with pytest.raises(InvalidParameter, match=f"'{name.lower()}'"):
        register_command(other)
    assert register_command(epsilon) is epsilon
    assert app.registered_commands == before


def test_names_of_strategies_are_taken_once() -> None:
    """A name belongs to one function."""
    with pytest.raises(InvalidParameter, match="'bsr'"):
        hs.strategies.register(bsr)
    assert FACTORIZATIONS["bsr"] is hs.strategies.bsr


@pytest.mark.parametrize("wrong", [5, None, int, hs.filters.Filter, lambda: None])
def test_what_is_no_filter(wrong: Any) -> None:
    """Numbers, other classes, and the abstract base."""
    before = registered()
    with pytest.raises(InvalidParameter, match="filter_class must be a class"):
        hs.filters.register(wrong)
    assert registered() == before


def test_a_filter_with_the_module_and_name_of_another() -> None:
    """It is another class all the same."""
    original = hs.filters.Gaussian
    members = {"__module__": original.__module__, "__qualname__": original.__qualname__}
    with pytest.raises(InvalidParameter, match="registered"):
        hs.filters.register(type("Gaussian", (original,), members))
    assert original in registered()


@in_one_test
@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": None},
        {"name": "auto"},
        {"summary": None},
        {"kind": "certain"},
        {"needs": "dominating_pair"},
        {"needs": ["dominating_pair"]},
        {"needs": ("dominated_pair",)},
        {"needs": ("unit",)},
        {"needs": ("most_participations",)},
        {"second_to": "profile"},
        {"second_to": (1,)},
        {"analyse": None},
        {"condition": None},
        {"cost": 1.0},
        {"by_draws": None},
    ],
    ids=str,
)
def test_methods_that_cannot_be_used(wrong: dict[str, Any]) -> None:
    """The sentence is about the field."""
    with pytest.raises(InvalidParameter, match=f"^{next(iter(wrong))} must be"):
        replace(PROFILE, **wrong)


def test_what_is_no_method() -> None:
    """Not even its name."""
    for wrong in (5, "profile", None):
        with pytest.raises(InvalidParameter, match="method must be a Method"):
            register_method(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "kind", "refused"),
    [
        ("other", "asymptotic", False),
        ("other", "conjectured", False),
        ("other", "proven", True),
        ("other", "confidence", True),
        ("other", "certain", True),
        ("profile", "asymptotic", True),
    ],
)
def test_analyses_claim_what_their_method_declares(
    monkeypatch: pytest.MonkeyPatch, method: str, kind: Any, refused: bool
) -> None:
    """Its name, and its kind or a weaker one."""

    def analyse(request: Any) -> Analysis:
        return Analysis(method, kind, PROFILE.analyse(request).bound)

    declared = replace(PROFILE, name="other", kind="asymptotic", analyse=analyse)
    monkeypatch.setitem(METHODS, "other", declared)
    if refused:
        with pytest.raises(InvalidParameter, match="what other returns must be an Analysis"):
            hs.account(PLAN, noise_multiplier=1.0, method="other")
    else:
        assert hs.account(PLAN, noise_multiplier=1.0, method="other").kind == kind


def test_what_is_no_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that forgets to return one."""
    declared = replace(PROFILE, name="other", analyse=lambda request: None)
    monkeypatch.setitem(METHODS, "other", declared)
    with pytest.raises(InvalidParameter, match="what other returns"):
        hs.account(PLAN, noise_multiplier=1.0, method="other")


@pytest.mark.parametrize("wrong", [float("nan"), -1.0, -1e-300, None, "1", True, 1j])
def test_values_that_bound_nothing(wrong: Any) -> None:
    """An upper bound is a number from 0 to infinity."""
    with pytest.raises(InvalidParameter, match="value must be a number >= 0"):
        UpperBound(wrong)
    assert UpperBound(float("inf")).value == float("inf")


def test_lower_bounds_are_checked_when_they_are_read() -> None:
    """They are between 0 and the value; NaN and what is no number are refused."""
    for wrong in (float("nan"), "1", True):
        bound = UpperBound(1.0, find_lower=lambda wrong=wrong: wrong)
        with pytest.raises(InvalidParameter, match="lower must be a number or None"):
            _ = bound.lower
    for given, read in ((None, None), (2.0, 1.0), (0.5, 0.5), (-1.0, 0.0)):
        assert UpperBound(1.0, find_lower=lambda given=given: given).lower == read


def test_zero_is_its_own_lower_bound() -> None:
    """Also where the analysis that proves it knows no lower bound."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=2), steps=8, strategy=hs.strategies.bsr(8, bands=4))
    answer = hs.account(plan, noise_multiplier=3.62, direction="add").answer(delta=0.99)
    assert (answer.value, answer.lower, answer.kind) == (0.0, 0.0, "proven")
