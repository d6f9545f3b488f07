"""A claim cannot be lowered after the fact, and what is no filter is refused in one sentence."""

from __future__ import annotations

import copy
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
from hockeystick.errors import HockeystickError, InvalidParameter, PlanMismatch
from in_one_test import in_one_test

TARGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5}
GAUSSIAN = hs.Profile.gaussian(noise_multiplier=2.0)
BROWNIAN = filters.LevyProcess(gaussian=1.0)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: filters.Gaussian(mu=1.0), ("mu", "kind", "unit", "budget", "guarantee")),
        (lambda: filters.Renyi(**TARGET, order=32.0), ("order", "epsilon", "delta", "spent")),
        (lambda: filters.Levy(**TARGET, process=BROWNIAN), ("process", "epsilon", "delta")),
        (lambda: filters.ApproximateGaussian(mu=1.0), ("mu", "regime", "kind")),
        (lambda: filters.NaturalFDP(family=[GAUSSIAN], budget=GAUSSIAN), ("unit", "kind")),
        (lambda: filters.Individual.gaussian(examples=2, mu=1.0), ("rule", "kind", "steps")),
    ],
    ids=["gaussian", "renyi", "levy", "approximate", "natural", "individual"],
)
def test_what_a_claim_depends_on_cannot_change(make: Callable[[], Any], names: list[str]) -> None:
    """Neither by assignment nor by deletion; the claim stays what it was."""
    f = make()
    before = f.guarantee().epsilon(1e-5)
    for name in names:
        with pytest.raises(PlanMismatch, match=rf"^{name} of .* cannot change: it is .*\.$"):
            setattr(f, name, 0.001)
        with pytest.raises(PlanMismatch, match=rf"^{name} of .* cannot change"):
            delattr(f, name)
    assert f.guarantee().epsilon(1e-5) == before


def test_state_of_individual_budgets_still_moves(tmp_path: Path) -> None:
    """Steps count, and a saved state is taken over by a new object."""
    first, second = (filters.Individual.gaussian(examples=2, mu=1.0) for _ in range(2))
    first.step([0.5, 1.0], noise_multiplier=2.0)
    first.save(tmp_path / "state.npz")
    second.load(tmp_path / "state.npz")
    assert second.steps == first.steps == 1
    assert np.array_equal(second.remaining, first.remaining)


class Charging(filters.Gaussian):
    """A filter of one's own that charges whatever it is told."""

    def __init__(self, charge: float) -> None:
        self.own = charge
        super().__init__(mu=1.0)
        self._requests = 0

    def _charge_of_step(self, step: filters.GaussianStep) -> float:
        self._requests += 1
        return self.own


@pytest.mark.parametrize("charge", [-1.0, -math.inf, math.nan])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_charge_is_a_number_from_zero(charge: float, steps: int) -> None:
    """A filter of one's own that computes a negative charge or NaN gives no permit."""
    f = Charging(charge)
    with pytest.raises(InvalidParameter, match="what Charging charges must be a number >= 0"):
        f.request(noise_multiplier=1.0, steps=steps)
    assert f.history == ()
    assert Charging(0.25).request(noise_multiplier=1.0).charge == 0.25


def test_a_permit_cannot_be_replaced() -> None:
    """`dataclasses.replace` is a copy with another charge, and refused like every copy."""
    permit = filters.Gaussian(mu=1.0).request(noise_multiplier=2.0)
    attempts: list[Callable[[], object]] = [
        lambda: dataclasses.replace(permit, charge=0.0),
        lambda: dataclasses.replace(permit, clip_scale=9.0),
        lambda: dataclasses.replace(permit),
        lambda: copy.copy(permit),
    ]
    for attempt in attempts:
        with pytest.raises(HockeystickError, match=r"permit cannot be copied .*another one\.$"):
            attempt()


def test_cancelling_after_an_exception_is_the_callers_word() -> None:
    """The charge stays after an exception; only an explicit `cancel` gives it back."""
    f = filters.Gaussian(mu=1.0)
    permit = f.request(noise_multiplier=2.0)
    with pytest.raises(RuntimeError), permit:
        raise RuntimeError
    assert f.spent == permit.charge
    permit.cancel()
    assert f.spent == 0.0


@in_one_test
@pytest.mark.parametrize(
    "wrong", [None, 5, [], (), "Gaussian", {}, {"filter": None}, {"filter": 5}]
)
def test_what_is_no_description_is_refused(wrong: Any) -> None:
    """By the registry and by every class."""
    classes = (filters.Gaussian, filters.Levy, filters.NaturalFDP, filters.Individual)
    for build in (filters.from_description, *(one.from_description for one in classes)):
        with pytest.raises(InvalidParameter, match=r"^filter must be"):
            build(wrong)


def test_a_filter_whose_parameters_do_not_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is neither described nor built; the error names what is missing."""
    monkeypatch.setattr("hockeystick.filters.registry._REGISTERED", {})
    unnamed = filters.register(type("Unnamed", (filters.Gaussian,), {"parameters": ()}))
    with pytest.raises(InvalidParameter, match=r"parameters must be all the keywords .*'mu'"):
        unnamed(mu=1.0).describe()
    with pytest.raises(InvalidParameter, match=r"parameters must be all the keywords .*'mu'"):
        filters.from_description({"filter": "Unnamed"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": [1_000_000_000], "rates": [0.1]},
        {"sizes": [300], "rates": [1e300]},
        {"sizes": [360], "rates": [0.1]},
        {"sizes": 5, "rates": [0.1]},
        {"gaussian": True},
        {"catalyst": True},
        {"sizes": [1], "rates": [True]},
    ],
)
def test_a_levy_process_is_made_of_finite_numbers(wrong: dict[str, Any]) -> None:
    """Jumps that overflow and booleans are refused, in descriptions too."""
    with pytest.raises(InvalidParameter):
        filters.LevyProcess(**{"gaussian": 1.0, **wrong})
    process = json.dumps({"gaussian": 1.0, "sizes": [], "rates": [], **wrong})
    with pytest.raises(InvalidParameter):
        filters.from_description({"filter": "Levy", **TARGET, "process": process})


def test_a_process_is_a_process() -> None:
    """Its text is not taken for it, and its lists are kept as tuples."""
    for wrong in ("x", BROWNIAN.as_text(), 5):
        with pytest.raises(InvalidParameter, match="process must be a LevyProcess"):
            filters.Levy(**TARGET, process=wrong)  # type: ignore[arg-type]
    given = filters.LevyProcess(gaussian=1.0, sizes=[1], rates=[0.5])  # type: ignore[arg-type]
    assert (given.sizes, given.rates) == ((1,), (0.5,))


@pytest.mark.parametrize("true", [True, np.True_])
def test_booleans_are_no_real_numbers(true: Any) -> None:
    """True is not 1.0, in calls and in descriptions."""
    attempts: list[Callable[[], object]] = [
        lambda: filters.from_description({"filter": "Gaussian", "mu": true}),
        lambda: filters.from_description(
            {"filter": "Individual renyi", "order": 8.0, "budget": true}
        ),
        lambda: filters.Gaussian(mu=1.0).request(noise_multiplier=true),
        lambda: filters.Gaussian(mu=1.0).request(noise_multiplier=1.0, rate=true),
        lambda: hs.MonteCarlo(epsilon=true),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidParameter):
            attempt()


@pytest.mark.parametrize(
    "wrong",
    [[{0.1: 0, 1.0: 0, 3: 0}], ["abc"], [b"abc"], [{0.1, 1.0, 3}], "abc", {(0.1, 1.0, 3): 0}],
)
def test_expected_rows_are_sequences(wrong: Any) -> None:
    """Keys, members and characters are not (rate, noise_multiplier, steps)."""
    with pytest.raises(InvalidParameter, match=r"expected must be a list of \(rate"):
        filters.Gaussian(mu=1.0, expected=wrong)
    filters.Gaussian(mu=1.0, expected=[[0.1, 1.0, 3]])  # type: ignore[list-item]
