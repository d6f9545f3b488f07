"""Figures 1 to 9 of the f-DP filter paper, in small mode and as stored."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

import fdp_filter_showcase as showcase
import fdp_loss_moments
import hockeystick as hs
from fdp_example_curves import ADAPTED, AS_PRINTED, BUDGET, FUTURES, WORST

STORED = Path(__file__).parents[2] / "docs" / "papers" / "figures"
NAMES = [
    "fdp_counterexample",
    "fdp_counterexample_tradeoffs",
    "fdp_filter_showcase",
    "fdp_loss_moments",
]
# The numbers of Example 3.3 at its calibration point, to six digits.
EXAMPLE = {
    "calibration_point": 1.363330,
    "budget": 0.537365,
    "adaptive_corrected": 0.560630,
    "adaptive_printed": 0.513995,
}
# Chords of the polygons lie above the curves, in small mode by more.
CHORDS = {"small": 2e-3, "stored": 1e-5}


def _stored(name):
    """The numbers in the documentation."""
    return json.loads((STORED / f"{name}.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_small_mode_writes_picture_and_numbers(name, tmp_path):
    """What must hold in a figure holds, and common points agree with the stored figure."""
    script = importlib.import_module(name)
    assert script.main(["--small", "--output", str(tmp_path)]) == 0
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    content = json.loads((tmp_path / f"{name}.json").read_text())
    _check(content, "small")
    _compare(content, _stored(name))


@pytest.mark.parametrize("name", NAMES)
def test_stored_numbers(name):
    """The same for the numbers beside the pictures of the documentation."""
    assert (STORED / f"{name}.png").stat().st_size > 10_000
    _check(_stored(name), "stored")


def _compare(fresh, stored):
    """Where small mode has a point of the full figure, both agree; only polygons have chords."""
    chords = CHORDS["small"] if "counterexample" in stored["name"] else 0.0
    common = 0
    for few, many in zip(_panels(fresh), _panels(stored), strict=True):
        for label, line in few.items():
            known = dict(zip(many[label]["x"], many[label]["y"], strict=True))
            for x, y in zip(line["x"], line["y"], strict=True):
                if x in known:
                    assert y == pytest.approx(known[x], rel=2e-3, abs=chords)
                    common += 1
    assert common >= 6


def _panels(content):
    """The curves of each diagram, by label."""
    return [
        {line["label"]: line for line in panel["curves"]}
        for panel in content.get("panels", [content])
    ]


def _check(content, mode):
    """Every curve is complete, and what the figure is about holds."""
    for curves in _panels(content):
        for line in curves.values():
            assert len(line["x"]) == len(line["y"]) > 1
            assert all(math.isfinite(y) for y in line["y"])
    CHECKS[content["name"]](content, CHORDS[mode])


def _check_setting(setting):
    """Six digits of the example."""
    for name, expected in EXAMPLE.items():
        assert abs(setting[name] - expected) <= 5e-7


def _check_profiles(content, chords):
    """The corrected branches exceed the budget, the printed ones do so nowhere."""
    for panel, curves in zip(content["panels"], _panels(content), strict=True):
        _check_setting(panel["setting"])
        x = np.array(next(iter(curves.values()))["x"])
        at = int(np.flatnonzero(x == panel["setting"]["calibration_point"])[0])
        lines = {label: np.array(line["y"]) for label, line in curves.items()}
        if BUDGET not in lines:
            gap = lines[FUTURES[0]] - lines[FUTURES[1]]
            assert abs(gap[at]) < chords
            assert gap[at - 1] > 0 > gap[at + 1]
            continue
        assert np.all(lines[AS_PRINTED] <= lines[BUDGET] + 1e-9)
        assert np.all(lines[WORST] >= np.maximum(lines[BUDGET], lines[ADAPTED]) - chords / 10)
        excess = lines[ADAPTED][at] - lines[BUDGET][at]
        assert excess == pytest.approx(0.560630 - 0.537365, abs=chords, rel=0)
        assert lines[WORST][at] == pytest.approx(lines[ADAPTED][at], abs=chords / 10, rel=0)


def _check_tradeoffs(content, chords):
    """No order above; below, only the corrected branches come under the budget."""
    for panel, curves in zip(content["panels"], _panels(content), strict=True):
        _check_setting(panel["setting"])
        lines = {label: np.array(line["y"]) for label, line in curves.items()}
        if BUDGET not in lines:
            gap = lines[FUTURES[0]] - lines[FUTURES[1]]
            assert gap.min() < -0.03
            assert gap.max() > 0.03
            continue
        assert np.all(lines[AS_PRINTED] >= lines[BUDGET] - 1e-9)
        deepest = float(np.max(lines[BUDGET] - lines[ADAPTED]))
        assert 0.005 + chords < deepest < 0.0234 + chords


def _check_showcase(content, chords):
    """The asymptotic filter is below the truth, the Renyi filter above; known values."""
    del chords
    assert abs(content["setting"]["budget"] - 0.049377) <= 5e-7
    assert abs(content["setting"]["mu"] - 0.314252) <= 5e-7
    lines = {
        label: dict(zip(line["x"], line["y"], strict=True))
        for label, line in _panels(content)[0].items()
    }
    for delta, epsilon in lines[showcase.TRUTH].items():
        assert lines[showcase.APPROXIMATE][delta] < epsilon < lines[showcase.RENYI][delta]
    for delta, claimed, truth in ((1e-5, 1.191, 1.216), (1e-8, 1.648, 1.695)):
        assert lines[showcase.APPROXIMATE][delta] == pytest.approx(claimed, rel=1e-3)
        assert lines[showcase.TRUTH][delta] == pytest.approx(truth, rel=2e-3)


def _check_moments(content, chords):
    """Errors grow with the distance from the limit and fall with the noise."""
    del chords
    assert len(content["panels"]) == 4
    for curves in _panels(content):
        errors = np.array([line["y"] for line in curves.values()])
        assert np.all(errors > 0)
        assert np.all(np.diff(errors, axis=0) < 0)
        assert np.all(np.diff(errors, axis=1) > 0)


CHECKS = {
    "fdp_counterexample": _check_profiles,
    "fdp_counterexample_tradeoffs": _check_tradeoffs,
    "fdp_filter_showcase": _check_showcase,
    "fdp_loss_moments": _check_moments,
}


def test_the_budget_from_composed_profiles():
    """Both compositions without adaptivity, by the library's own proven arithmetic."""
    epsilon = math.log(EXAMPLE["calibration_point"])

    def bounds(*sensitivities):
        first, second, third = (
            hs.Profile.gaussian(noise_multiplier=1 / mu).subsample(0.5) for mu in sensitivities
        )
        return first.compose(second).compose(third).delta_bounds(epsilon)

    both = [bounds(1.3, 2.25, 2.25), bounds(1.3, 0.1, 10.0)]
    lower = max(one.lower for one in both)
    upper = max(one.upper for one in both)
    assert lower - 1e-6 <= EXAMPLE["budget"] <= upper + 1e-6
    assert EXAMPLE["adaptive_printed"] < lower <= upper < EXAMPLE["adaptive_corrected"]


@pytest.mark.parametrize(
    ("swapped", "name"), [(True, "adaptive_corrected"), (False, "adaptive_printed")]
)
def test_the_example_by_simulation(swapped, name):
    """The three steps run half a million times with the example: H = E[(1 - g/LR)+]."""
    rng = np.random.default_rng(20260208)
    draws = 500_000

    def step(sensitivity):
        present = rng.random(draws) < 0.5
        output = rng.standard_normal(draws) + present * sensitivity
        ratio = 0.5 + 0.5 * np.exp(sensitivity * output - sensitivity**2 / 2)
        return output, ratio

    output, first = step(np.full(draws, 1.3))
    both_large = (output <= 0.65) != swapped
    _, second = step(np.where(both_large, 2.25, 0.1))
    _, third = step(np.where(both_large, 2.25, 10.0))
    losses = np.maximum(1 - EXAMPLE["calibration_point"] / (first * second * third), 0)
    error = float(losses.std()) / math.sqrt(draws)
    assert abs(float(losses.mean()) - EXAMPLE[name]) < 4 * error
    # The budget is more than twenty errors away: the simulation can tell.
    assert error < 0.001


@pytest.mark.slow
def test_a_simpler_example():
    """Two steps with 1.3 against one with 2.25, as the documentation has it."""
    family = [hs.Profile.gaussian(noise_multiplier=1 / mu).subsample(0.5) for mu in (1.3, 2.25)]
    witness = hs.fdp.blackwell_chain(family, steps=3).witness
    assert {witness.first, witness.second} == {(2, 0), (0, 1)}
    assert witness.calibration_points == pytest.approx([0.830], abs=5e-4)
    assert witness.counterexample.gamma == pytest.approx(0.640, abs=5e-4)
    assert witness.counterexample.excess >= 0.0092


def test_moment_errors_at_the_ends_of_the_regimes():
    """Not negligible at rate 0.2 with noise 1: 31 % of the mean; small with noise 4."""
    for noise, rate, expected in ((1.0, 0.2, 0.3067), (4.0, 0.2, 0.01166)):
        found = fdp_loss_moments.relative_error(
            "mean", rate=rate, noise_multiplier=noise, regime="small"
        )
        assert found == pytest.approx(expected, rel=1e-3)
