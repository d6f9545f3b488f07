"""From options to a plan."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.cli import options_of, taken_from
from hockeystick.cli.options import PlanOptions
from hockeystick.cli.plans import described, plan_from, sampling_from
from hockeystick.errors import InvalidParameter
from hockeystick.schemes import SCHEMES, Sampling
from in_one_test import in_one_test

EXAMPLES: dict[str, tuple[dict[str, Any], Sampling]] = {
    "full-batch": ({}, hs.FullBatch()),
    "poisson": ({"rate": 0.1}, hs.Poisson(rate=0.1)),
    "cyclic-poisson": ({"rate": 0.1, "groups": 4}, hs.CyclicPoisson(rate=0.1, groups=4)),
    "balls-in-bins": ({"bins": 5}, hs.BallsInBins(bins=5)),
    "random-allocation": (
        {"picks": 2, "out_of": 5, "truncate": True},
        hs.RandomAllocation(picks=2, out_of=5, truncate=True),
    ),
    "min-sep": (
        {"rate": 0.1, "separation": 4, "warm_start": False},
        hs.MinSep(rate=0.1, separation=4, warm_start=False),
    ),
    "user-min-sep": (
        {"rate": 0.1, "separation": 4, "examples_per_user": 2, "warm_up": 3},
        hs.UserMinSep(rate=0.1, separation=4, examples_per_user=2, warm_up=3),
    ),
    "conjectured-user-min-sep": (
        {"rate": 0.1, "separation": 4, "examples_per_user": 2, "max_participations": 3},
        hs.ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=2, max_participations=3),
    ),
    "formed-batches": (
        {"batch_size": 5.0, "examples": 20, "separation": 4, "max_participations": 3},
        hs.FormedBatches(batch_size=5, separation=4, max_participations=3),
    ),
    "shuffle": ({"batch_size": 5.0, "examples": 20}, hs.Shuffle(batch_size=5)),
}
SIZED: dict[str, tuple[dict[str, Any], Sampling]] = {
    "full-batch": ({"batch_size": 100.0}, hs.FullBatch()),
    "poisson": ({"batch_size": 10.0}, hs.Poisson(rate=0.1)),
    "cyclic-poisson": (
        {"batch_size": 10.0, "groups": 4},
        hs.CyclicPoisson(rate=0.4, groups=4),
    ),
    "balls-in-bins": ({"batch_size": 20.0}, hs.BallsInBins(bins=5)),
    "random-allocation": ({"batch_size": 20.0}, hs.RandomAllocation(picks=1, out_of=5)),
    "min-sep": ({"batch_size": 20.0, "separation": 4}, hs.MinSep(rate=0.5, separation=4)),
    "user-min-sep": (
        {"batch_size": 20.0, "separation": 1, "examples_per_user": 3},
        hs.UserMinSep(rate=0.2, separation=1, examples_per_user=3),
    ),
    "conjectured-user-min-sep": (
        {"batch_size": 20.0, "separation": 4},
        hs.ConjecturedUserMinSep(rate=0.5, separation=4, examples_per_user=1),
    ),
    "formed-batches": (
        {"batch_size": 20.0, "separation": 4},
        hs.FormedBatches(batch_size=20, separation=4),
    ),
    "shuffle": ({"batch_size": 10.0}, hs.Shuffle(batch_size=10)),
}


def options(scheme: str, **given: Any) -> PlanOptions:
    """The options of a run of ten steps."""
    return taken_from({"sampling": scheme, "steps": 10, **given}, PlanOptions)


@in_one_test
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_can_be_described(scheme: str) -> None:
    """A scheme that joins the registry needs an example here, and options for its parameters."""
    given, expected = EXAMPLES[scheme]
    assert plan_from(options(scheme, **given)) == hs.Plan(sampling=expected, steps=10)


@in_one_test
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_can_be_described_by_its_batch_size(scheme: str) -> None:
    """--batch-size with --examples is an alternative for all of them."""
    given, expected = SIZED[scheme]
    assert sampling_from(options(scheme, examples=100, **given)) == expected


@in_one_test
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_parameter_of_a_scheme_is_an_option(scheme: str) -> None:
    """No parameter can be set in Python only."""
    available = {option.name for option in options_of(PlanOptions)}
    assert {field.name for field in dataclasses.fields(SCHEMES[scheme])} <= available


@in_one_test
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_other_parameter_is_refused(scheme: str) -> None:
    """What a scheme does not have is an error that names option and scheme, never ignored."""
    given, _ = EXAMPLES[scheme]
    values: dict[str, Any] = {"rate": 0.5, "groups": 2, "picks": 1, "out_of": 2, "truncate": True}
    foreign = values.keys() - {field.name for field in dataclasses.fields(SCHEMES[scheme])}
    assert foreign
    for name in foreign:
        with pytest.raises(InvalidParameter, match=f"left out for {scheme} sampling") as caught:
            sampling_from(options(scheme, **given, **{name: values[name]}))
        assert caught.value.name == name


@pytest.mark.parametrize(
    "scheme",
    ["poisson", "cyclic-poisson", "random-allocation", "min-sep", "user-min-sep", "shuffle"],
)
def test_every_needed_parameter_is_asked_for(scheme: str) -> None:
    """Leaving out any parameter without a default names it and the scheme."""
    given, _ = EXAMPLES[scheme]
    for name in given.keys() - {"truncate", "warm_start", "warm_up"}:
        rest = {other: value for other, value in given.items() if other != name}
        with pytest.raises(InvalidParameter, match=f"given for {scheme} sampling") as caught:
            sampling_from(options(scheme, **rest))
        assert caught.value.name == name


def test_the_hint_is_given_only_where_it_helps() -> None:
    """A batch size replaces the rate, but not the number of groups."""
    with pytest.raises(InvalidParameter, match="or --batch-size and --examples"):
        sampling_from(options("cyclic-poisson", groups=4))
    with pytest.raises(InvalidParameter) as caught:
        sampling_from(options("cyclic-poisson", rate=0.1))
    assert "--batch-size" not in str(caught.value)


@pytest.mark.parametrize(("given", "warm"), [(None, True), (True, True), (False, False)])
def test_a_cold_start_is_not_mistaken_for_an_option_left_out(
    given: bool | None, warm: bool
) -> None:
    """The start is warm unless --cold-start says otherwise."""
    scheme = sampling_from(options("min-sep", rate=0.1, separation=4, warm_start=given))
    assert scheme == hs.MinSep(rate=0.1, separation=4, warm_start=warm)


def test_a_random_phase_is_passed_on() -> None:
    """With and without a batch size."""
    expected = hs.CyclicPoisson(rate=0.4, groups=4, random_phase=True)
    given: dict[str, Any] = {"groups": 4, "random_phase": True}
    assert sampling_from(options("cyclic-poisson", rate=0.4, **given)) == expected
    sized = options("cyclic-poisson", batch_size=10.0, examples=100, **given)
    assert sampling_from(sized) == expected


def test_zero_counts_as_given() -> None:
    """A zero is refused for what it is, not mistaken for an option left out."""
    with pytest.raises(InvalidParameter, match="got 0"):
        sampling_from(options("poisson", rate=0.0))


def test_examples_add_the_expected_batch_size() -> None:
    """With a known number of examples the description holds it and the expected batch."""
    given = options("poisson", rate=0.1, examples=50)
    plan = plan_from(given)
    more = {"examples": 50, "expected_batch_size": 5.0}
    assert described(plan, given) == {**plan.describe(), **more}
    assert described(plan, options("poisson", rate=0.1)) == plan.describe()
