"""Filters say what they are, are built again from it, and are told what to expect in one way."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.filters.comparison import allowed_steps
from hockeystick.filters.registry import registered
from in_one_test import in_one_test

GAUSSIAN = hs.Profile.gaussian(noise_multiplier=2.0)
TARGET = {"epsilon": 1.0, "delta": 1e-5}
MAKERS: dict[str, Callable[..., Any]] = {
    "Renyi": lambda **told: filters.Renyi(**TARGET, **told),
    "Levy": lambda **told: filters.Levy(
        **TARGET, process=filters.LevyProcess(gaussian=1.0), **told
    ),
    "Gaussian": lambda **told: filters.Gaussian(mu=0.5, **told),
    "ApproximateGaussian": lambda **told: filters.ApproximateGaussian(mu=0.5, **told),
    "NaturalFDP": lambda **told: filters.NaturalFDP(family=[GAUSSIAN], budget=GAUSSIAN, **told),
    "Individual renyi": lambda **told: filters.Individual.renyi(examples=3, **TARGET, **told),
    "Individual gaussian": lambda **told: filters.Individual.gaussian(examples=3, mu=0.5, **told),
    "Individual approximate": lambda **told: filters.Individual.approximate(
        examples=3, mu=0.5, **told
    ),
}
EVERY = pytest.mark.parametrize("name", MAKERS)
WRONG = [
    [],
    0.1,
    [0.1, 1.0, 1],
    [(0.1, 1.0)],
    [(0.1, 1.0, 1, 1)],
    [(0.0, 1.0, 1)],
    [(math.nan, 1.0, 1)],
    [(0.1, math.nan, 1)],
    [(0.1, 1.0, 0)],
    [(0.1, 1.0, 1.5)],
]


@in_one_test
@EVERY
def test_every_filter_is_told_what_to_expect_in_one_way(name: str) -> None:
    """Rates, noise multipliers and steps, from any iterable; `expected_rate` is gone."""
    MAKERS[name](expected=iter([(0.1, 2.0, 1), hs.fdp.EqualSteps(0.05, 1.0, 10)]))
    for wrong in WRONG:
        with pytest.raises(InvalidParameter):
            MAKERS[name](expected=wrong)
    with pytest.raises(TypeError):
        MAKERS[name](expected_rate=0.1)


@in_one_test
@EVERY
def test_descriptions_go_through_a_file(name: str) -> None:
    """The same guarantee, to the last digit; a filter with a profile says that it has none."""
    f = MAKERS[name]()
    if name == "NaturalFDP":
        with pytest.raises(InvalidParameter, match="profile"):
            f.describe()
        return
    described = json.loads(json.dumps(f.describe()))
    again = filters.from_description(described)
    assert described["filter"] == name
    assert again.describe() == described
    assert again.guarantee().epsilon(1e-5) == f.guarantee().epsilon(1e-5)


def test_earlier_descriptions_and_states_are_read(tmp_path: Path) -> None:
    """As statements of runs and files of individual budgets have them since the first version."""
    process = (
        '{"catalyst": 0.1, "gaussian": 0.1, "killing": 1e-09, "rates": [0.5, 0.01], '
        '"sizes": [1, 3], "unit": 0.25}'
    )
    for described in (
        {"filter": "Renyi", "epsilon": 2.0, "delta": 1e-5, "order": 7.5},
        {"filter": "Gaussian", "mu": 0.7},
        {"filter": "Levy", "epsilon": 3.0, "delta": 1e-5, "process": process},
        {"filter": "ApproximateGaussian", "mu": 0.7, "regime": "small"},
        {"filter": "Individual renyi", "order": 8.0, "budget": 0.5},
        {"filter": "Individual gaussian", "mu": 0.7},
        {"filter": "Individual approximate", "mu": 0.7, "regime": "large"},
    ):
        assert filters.from_description(described).describe() == described
    for text, people in (
        ('{"mu": 0.7, "rule": "gaussian"}', filters.Individual.gaussian(examples=2, mu=0.7)),
        (
            '{"mu": 0.7, "regime": "small", "rule": "approximate"}',
            filters.Individual.approximate(examples=2, mu=0.7),
        ),
    ):
        np.savez(tmp_path / "state.npz", rule=text, remaining=[0.125, 0.0], steps=3)
        people.load(tmp_path / "state.npz")
        assert people.remaining.tolist() == [0.125, 0.0]


@in_one_test
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"filter": None},
        {"filter": "Unknown", "mu": 1.0},
        {"filter": "Gaussian gaussian", "mu": 1.0},
        {"filter": "Gaussian", "mu": [1.0]},
        {"filter": "Gaussian", "mu": 1.0, "name": "other"},
        {"filter": "NaturalFDP"},
        {"filter": "Individual"},
        {"filter": "Individual other", "mu": 1.0},
        {"filter": "Individual gaussian", "mu": -1.0},
        {"filter": "Individual approximate", "mu": 1.0, "regime": "medium"},
    ],
)
def test_other_descriptions_are_refused(wrong: dict[str, object]) -> None:
    """Names that are not registered, parameters that are missing, too many or not plain."""
    with pytest.raises(InvalidParameter):
        filters.from_description(wrong)


class Doubled(filters.Gaussian):
    """A filter of one's own: every step is charged twice."""

    def _charge_of_step(self, step: filters.GaussianStep) -> float:
        return 2 * super()._charge_of_step(step)

    def _largest_scale(self, step: filters.GaussianStep, left: float) -> float:
        return super()._largest_scale(step, left / 2)


def test_a_filter_is_added_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unregistered it cannot be described; registered it is in statements and in comparisons."""
    monkeypatch.setattr("hockeystick.filters.registry._REGISTERED", {})
    f = Doubled(mu=1.0)
    with pytest.raises(InvalidParameter, match="filter"):
        f.describe()
    filters.register(Doubled)
    filters.register(filters.Gaussian)
    assert registered() == (Doubled, filters.Gaussian)
    assert isinstance(filters.from_description(f.describe()), Doubled)
    rows = allowed_steps(epsilon=1.0, delta=1e-5, expected=[(1.0, 20.0, 1)])
    assert [(row.filter, row.steps) for row in rows[:2]] == [("Doubled", 14), ("Gaussian", 28)]


def test_a_name_belongs_to_one_class() -> None:
    """Another class of the same name is refused; the same one again is not."""
    assert filters.register(filters.Gaussian) is filters.Gaussian
    with pytest.raises(InvalidParameter, match="registered"):
        filters.register(type("Gaussian", (filters.Gaussian,), {}))


def test_a_permit_never_changes() -> None:
    """What it says is fixed; what becomes of it is with its reservation."""
    f = filters.Gaussian(mu=1.0)
    permit, other = (f.request(noise_multiplier=3.0) for _ in range(2))
    before, text = dict(vars(permit)), repr(permit)
    with permit:
        pass
    other.cancel()
    assert dict(vars(permit)) == before
    assert repr(permit) == text
    with pytest.raises(dataclasses.FrozenInstanceError):
        permit.charge = 0.0  # type: ignore[misc]
    for used in (permit, other):
        with pytest.raises(HockeystickError, match="used"), used:
            pass
