"""Figures 1 to 4 of the random allocation paper, in small mode."""

from __future__ import annotations

import importlib
import json
import math

import numpy as np
import pytest

import hockeystick as hs
import printed_analyses
import random_allocation_figure_1 as figure_1

FIGURES = [1, 2, 3, 4]


@pytest.mark.slow
@pytest.mark.parametrize("number", FIGURES)
def test_small_mode_writes_picture_and_numbers(number, capsys, tmp_path):
    """Every curve has a value for every x, and `profile` is the lowest proven one."""
    name = f"random_allocation_figure_{number}"
    script = importlib.import_module(name)
    assert script.main(["--small", "--output", str(tmp_path)]) == 0
    content = json.loads((tmp_path / f"{name}.json").read_text())
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    curves = {line["label"]: line for line in content["curves"]}
    for label, line in curves.items():
        assert label in printed
        assert len(line["x"]) == len(line["y"])
        assert all(y is None or 0 < y < math.inf for y in line["y"])
    # The default accuracy, five times as wide for delta.
    accuracy = 5e-3 if content["y_label"] == "δ" else 1e-3
    for method in ("renyi", "decomposition", "poisson-reduction"):
        if method in curves:
            for ours, other in zip(curves["profile"]["y"], curves[method]["y"], strict=True):
                assert ours <= other * (1 + accuracy)


@pytest.mark.slow
def test_figure_1_at_full_size():
    """Where the paper's grid was too coarse: one of a million steps."""
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=10**6), steps=10**6)
    for noise, expected in [(0.8, 0.0098), (1.0, 0.0065), (2.0, 0.0025)]:
        found = hs.account(plan, noise_multiplier=noise).epsilon(figure_1.DELTA)
        assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_the_printed_theorem_is_never_better_than_the_reduction():
    """Where Theorem 3.2 says anything at all: noise 3, a hundred thousand steps."""
    steps, noise, delta = 100_000, 3.0, 1e-8
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=steps), steps=steps)
    ours = hs.account(plan, noise_multiplier=noise, method="poisson-reduction").epsilon(delta)
    printed = printed_analyses.theorem_3_2(noise, steps, delta=delta)
    assert ours < printed < 2 * ours


def test_dong_et_al_at_order_two_is_exact():
    """One pick of two steps: the collision probability is a half."""
    found = printed_analyses.dong_et_al(1.0, 1, 2, delta=1e-3)
    order_two = math.log(0.5 + 0.5 * math.e) + math.log(0.5) - math.log(2e-3)
    assert found <= order_two


@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_dong_et_al_holds_from_order_two_on_only(noise):
    """One pick of three steps, by quadrature: below order 2 the printed divergence is too small."""
    points, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    ratio = np.exp(points / noise - 1 / (2 * noise**2))
    mean = (ratio[:, None, None] + ratio[:, None] + ratio) / 3
    chance = weights[:, None, None] * weights[:, None] * weights

    def exact(order):
        return math.log(float((chance * mean**order).sum())) / (order - 1)

    orders = np.array([1.05, 1.5, 1.9, 2.0, 2.5, 3.0])
    printed = printed_analyses.dong_et_al_divergence(noise, 1, 3, orders)
    gaps = [exact(order) - one for order, one in zip(orders.tolist(), printed, strict=True)]
    assert all(gap > 1e-5 for gap in gaps[:3])
    assert gaps[3] == pytest.approx(0.0, abs=1e-9)
    assert all(gap < 0 for gap in gaps[4:])
