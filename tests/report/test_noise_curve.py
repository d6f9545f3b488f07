"""Epsilon as a function of the noise multiplier."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import hockeystick as hs
from hockeystick.errors import PrecisionError
from hockeystick.report.noise_figure import POINTS, noise_around, noise_curve

PLAN = hs.Plan(sampling=hs.FullBatch(), steps=4)


def test_noise_surrounds_the_given_one_evenly() -> None:
    """Geometric steps, ascending, with the given noise in the middle."""
    noise = noise_around(0.7)
    assert len(noise) == POINTS
    assert noise[POINTS // 2] == pytest.approx(0.7, rel=1e-12)
    ratios = [b / a for a, b in pairwise(noise)]
    assert ratios == pytest.approx([ratios[0]] * (POINTS - 1), rel=1e-9)
    assert ratios[0] > 1


def test_values_are_the_library_s() -> None:
    """Each point is the epsilon of the plan with that noise."""
    curve = noise_curve(PLAN, label="x", kind="proven", noise=[1.0, 5.0], delta=1e-5)
    expected = [hs.account(PLAN, noise_multiplier=s).epsilon(1e-5) for s in (1.0, 5.0)]
    assert (curve.label, curve.kind, curve.noise) == ("x", "proven", (1.0, 5.0))
    assert curve.epsilon == pytest.approx(expected, rel=1e-12)


def test_direction_and_method_are_passed_on() -> None:
    """Poisson in one direction, by a named method."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)

    def at(**options: str) -> float:
        curve = noise_curve(
            plan, label="x", kind="proven", noise=[0.8], delta=1e-5, accuracy=0.02, **options
        )
        return curve.epsilon[0]

    assert at(direction="add") < 0.98 * at(direction="remove") < at(method="gaussian")


@pytest.mark.parametrize(("upper", "drawn"), [(2.5, 2.5), (math.inf, math.nan), (0.0, math.nan)])
def test_rough_bounds_are_drawn_and_impossible_ones_not(
    monkeypatch: pytest.MonkeyPatch, upper: float, drawn: float
) -> None:
    """An inaccurate upper bound is still one; zero and infinity have no place in the figure."""

    def rough(self: hs.Guarantee, delta: float) -> float:
        raise PrecisionError("rough", lower=0.0, upper=upper)

    monkeypatch.setattr(hs.Guarantee, "epsilon", rough)
    curve = noise_curve(PLAN, label="x", kind="proven", noise=[1.0], delta=1e-5)
    assert curve.epsilon == pytest.approx((drawn,), nan_ok=True)
