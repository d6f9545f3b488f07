"""Figures 1 to 6 of the sampling-free paper and its unsound rule, in small mode."""

from __future__ import annotations

import importlib
import inspect
import json
import math

import pytest

import hockeystick as hs
import noise_against_epsilon
import sampling_free_figure_4 as figure_4
import sampling_free_figure_6 as figure_6
import sampling_free_unsound as unsound
import unsound_allocation

NAMES = [*(f"sampling_free_figure_{i}" for i in range(1, 7)), "sampling_free_unsound"]
# Noises are found to 2 % of epsilon with `conditional` and to 0.2 % otherwise.
SEARCHED = 1.005


@pytest.fixture(scope="module", params=NAMES)
def content(request, tmp_path_factory):
    """What a script writes in small mode."""
    directory = tmp_path_factory.mktemp(request.param)
    script = importlib.import_module(request.param)
    assert script.main(["--small", "--output", str(directory)]) == 0
    assert (directory / f"{request.param}.png").stat().st_size > 10_000
    return json.loads((directory / f"{request.param}.json").read_text())


@pytest.mark.slow
def test_small_mode_writes_picture_and_numbers(content):
    """Every curve has a value for every x, and what must hold in its figure holds."""
    for curves in _panels(content):
        for line in curves.values():
            assert len(line["x"]) == len(line["y"])
            assert all(y is None or 0 <= y < math.inf for y in line["y"])
    CHECKS.get(content["name"], lambda content: None)(content)


def _panels(content):
    """The curves of each diagram, by label."""
    return [
        {line["label"]: line for line in panel["curves"]}
        for panel in content.get("panels", [content])
        if "curves" in panel
    ]


def _check_noises(content):
    """profile <= renyi, and the estimate is not above what is proven, but for its error."""
    for curves in _panels(content):
        estimate = curves.pop(noise_against_epsilon.ESTIMATE)
        reference = dict(
            zip(estimate["x"], zip(estimate["y"], estimate["error"], strict=True), strict=True)
        )
        for line in curves.values():
            for epsilon, noise in zip(line["x"], line["y"], strict=True):
                estimated, error = reference[epsilon]
                assert estimated - 2 * error <= noise * SEARCHED
        if "profile" in curves:
            for ours, other in zip(curves["profile"]["y"], curves["renyi"]["y"], strict=True):
                assert ours <= other * SEARCHED


def _check_divisions(content):
    """The unsound thresholds claim more than the sound ones; those agree within a tenth."""
    for curves in _panels(content):
        sound, union = curves[figure_4.OURS]["y"], curves[figure_4.UNION]["y"]
        assert curves[figure_4.PER_EPOCH]["y"][-1] < min(sound[-1], union[-1])
        assert sound[-1] == pytest.approx(union[-1], rel=0.1)


def _check_families(content):
    """More families never raise the bound, and lower it where it counts."""
    for curves in _panels(content):
        assert curves[figure_6.ALL]["y"][-1] < 0.999 * curves[figure_6.UNIFORM]["y"][-1]
        assert len({tuple(line["y"]) for line in curves.values()}) == len(figure_6.CHOICES)
        for few, all_ in zip(curves[figure_6.UNIFORM]["y"], curves[figure_6.ALL]["y"], strict=True):
            assert all_ <= few * 1.001


def _check_bad_events(content):
    """The unsound rule fails more often than it claims, ours does not."""
    events = content["panels"][0]
    claimed, simulated = events["claimed"], events["simulated"]
    three_errors = 3 * math.sqrt(claimed * (1 - claimed) / events["draws"])
    assert max(simulated[unsound.OURS]) < claimed
    assert min(simulated[unsound.CHARGED_ONCE]) > claimed + three_errors
    # With correlated noise also at the significance that is printed.
    assert simulated[unsound.AS_PRINTED][-1] > claimed + three_errors
    for curves in _panels(content):
        claims = zip(*(line["y"] for line in curves.values()), strict=True)
        assert all(exact < wrong < ours for ours, wrong, exact in claims)


CHECKS = {
    "sampling_free_figure_2": _check_noises,
    "sampling_free_figure_3": _check_noises,
    "sampling_free_figure_4": _check_divisions,
    "sampling_free_figure_6": _check_families,
    "sampling_free_unsound": _check_bad_events,
}


def test_the_estimate_agrees_with_the_exact_value():
    """DP-SGD with ten bins, where `profile` is exact; both directions, several deltas."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=10), steps=20)
    for noise, delta in [(1.0, 1e-5), (2.0, 1e-5), (2.0, 1e-2), (4.0, 1e-4)]:
        found = noise_against_epsilon.estimated_epsilon(plan, noise, delta=delta, draws=20_000)
        exact = hs.account(plan, noise_multiplier=noise).epsilon(delta)
        assert found.epsilon == pytest.approx(exact, abs=2 * found.error, rel=0)
        assert found.error < 0.05 * exact


def test_the_estimate_agrees_with_plain_simulation():
    """Correlated noise, at a delta that is not rare: within the interval of `estimate_delta`."""
    strategy = hs.strategies.bsr(20, 3)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=10), steps=20, strategy=strategy)
    found = noise_against_epsilon.estimated_epsilon(plan, 2.0, delta=0.01, draws=20_000)
    plain = [
        hs.estimate_delta(
            plan, noise_multiplier=2.0, epsilon=found.epsilon, direction=d, draws=100_000, rng=1
        )
        for d in ("remove", "add")
    ]
    worst = max(plain, key=lambda estimate: estimate.value)
    assert worst.low < 0.01 < worst.high


def test_the_search_meets_its_tolerance():
    """Of a function that falls like no simple power; far away, close by and in between."""
    calls = []

    def epsilon_at(noise):
        calls.append(noise)
        return 3 / noise + 5 / noise**3

    search = noise_against_epsilon.NoiseSearch(epsilon_at, start=1.0, tolerance=2e-3)
    for target in (0.1, 100.0, 1.0, 2.0):
        noise = search.noise(target)
        assert target * (1 - 2e-3) <= epsilon_at(noise) <= target
    assert len(calls) < 50


def test_the_unsound_rule_makes_no_guarantee():
    """Only plain numbers leave the module, and every rule that is unsound says so."""
    assert "UNSOUND" in unsound_allocation.__doc__
    for name in unsound_allocation.__all__:
        member = getattr(unsound_allocation, name)
        if inspect.isfunction(member):
            assert "Guarantee" not in str(inspect.signature(member))
            assert name.startswith("unsound") == ("unsound" in member.__doc__.lower())
