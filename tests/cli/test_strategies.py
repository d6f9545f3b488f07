"""`--strategy` and its options."""

from __future__ import annotations

from typing import Any

import pytest

import hockeystick as hs
from cli.conftest import Command
from hockeystick.cli import taken_from
from hockeystick.cli.options import PlanOptions
from hockeystick.cli.plans import plan_from
from hockeystick.errors import InvalidParameter
from hockeystick.strategies import FACTORIZATIONS

GIVEN: dict[str, dict[str, Any]] = {
    "identity": {},
    "bsr": {"bands": 3},
    "bisr": {"bands": 3},
    "lambda-cgd": {"decay": 0.5},
    "band-mf": {"bands": 3},
    "band-inv-mf": {"bands": 3},
    "blt": {"buffers": 2},
}


def options(strategy: str, **given: Any) -> PlanOptions:
    """Twelve steps in four groups."""
    run: dict[str, Any] = {"sampling": "cyclic-poisson", "rate": 0.5, "groups": 4, "steps": 12}
    return taken_from({**run, "strategy": strategy, **given}, PlanOptions)


@pytest.mark.parametrize("strategy", FACTORIZATIONS)
def test_every_strategy_can_be_described(strategy: str) -> None:
    """A factorization that joins the registry needs an example here, and options."""
    plan = plan_from(options(strategy, **GIVEN[strategy]))
    described = plan.describe()["strategy"]
    assert described["factorization"] == strategy
    assert GIVEN[strategy].items() <= described.items()


@pytest.mark.parametrize("strategy", ["band-inv-mf", "blt"])
def test_optimised_for_the_scheme(strategy: str) -> None:
    """The participations are those that the scheme allows."""
    plan = plan_from(options(strategy, **GIVEN[strategy]))
    factorization = FACTORIZATIONS[strategy]
    wanted = factorization(12, *GIVEN[strategy].values(), separation=4, participations=3)
    assert plan == hs.Plan(sampling=plan.sampling, steps=12, strategy=wanted)


def test_foreign_and_missing_options() -> None:
    """Each is named, with the strategy."""
    with pytest.raises(InvalidParameter, match="bands must be given for the strategy bsr"):
        plan_from(options("bsr"))
    with pytest.raises(InvalidParameter, match="left out for the strategy bsr"):
        plan_from(options("bsr", bands=2, buffers=2))
    with pytest.raises(InvalidParameter, match="left out for the strategy identity"):
        plan_from(options("identity", bands=2))
    with pytest.raises(InvalidParameter, match="one of identity, bsr"):
        plan_from(options("square-root", bands=2))


def test_the_plan_is_shown_with_its_strategy(command: Command) -> None:
    """Both are in the first line."""
    run = ["--sampling", "cyclic-poisson", "--rate", "0.5", "--groups", "4", "--steps", "12"]
    noise = ["--noise-multiplier", "2", "--delta", "1e-5"]
    outcome = command("epsilon", *run, "--strategy", "bsr", "--bands", "4", *noise)
    assert outcome.stdout.splitlines()[0] == (
        "cyclic-poisson (rate 0.5, groups 4), bsr (bands 4), 12 steps"
    )


def test_more_bands_than_groups(command: Command) -> None:
    """The method that was asked for says what it needs and what applies instead."""
    run = ["--sampling", "cyclic-poisson", "--rate", "0.5", "--groups", "4", "--steps", "12"]
    noise = ["--noise-multiplier", "2", "--delta", "1e-5", "--method", "profile"]
    outcome = command("epsilon", *run, "--strategy", "bsr", "--bands", "5", *noise)
    assert outcome.status == 2
    assert "at most 4 bands" in outcome.stderr
    assert "gaussian" in outcome.stderr
