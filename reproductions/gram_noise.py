"""Noise against epsilon with `gram`, above and below, beside the other methods; delta = 1e-5.

Balls-in-bins with 100 bins, one epoch and ten. No figure of a paper: `gram` is new. The lowest line
is proven too: with less noise than that the run is not (epsilon, delta)-DP, so no accountant can do
better. The circles are `hs.estimate_noise`, an estimate and no guarantee.

Usage: python reproductions/gram_noise.py [--small] [--output DIR]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import hockeystick as hs
from curves import Curve, Drawing, Panels, run
from hockeystick import strategies
from noise_against_epsilon import DELTA, ESTIMATE, NoiseSearch

__all__ = ["LOWER", "Effort", "draw", "main"]

LOWER = "gram, from below"
# How close searched noises come, in epsilon; one noise takes `conditional` many seconds.
TOLERANCES = {"gram": 5e-3, "renyi": 2e-3, "conditional": 0.05, LOWER: 5e-3}
# The bound from below does not depend on how closely the one from above is looked at.
CARELESS = 0.2
SEED = 20260116


class Effort(NamedTuple):
    """At which epsilons noises are searched, with `conditional` at some of them, and the work."""

    epsilons: Sequence[float]
    conditional: Sequence[float]
    budget: float


FULL = Effort((0.5, 2.0, 8.0), (0.5, 8.0), budget=1e7)
SMALL = Effort((2.0,), (2.0,), budget=2e5)


def draw(small: bool) -> Panels:
    """Five strategies, each for one epoch and for ten; in small mode one with four bins."""
    bins, effort = (4, SMALL) if small else (100, FULL)
    panels = []
    for epochs in (1,) if small else (1, 10):
        for name, strategy in _made(epochs * bins, small=small).items():
            panels.append(_panel(f"{name}, {epochs} × {bins} steps", strategy, bins, effort))
    title = f"Noise for a wanted ε, {bins} bins, δ = {DELTA:g}"
    return Panels("gram_noise", title, panels, columns=1 if small else 5)


def _made(steps: int, *, small: bool) -> dict[str, strategies.Strategy]:
    """The strategies, by what they are called in the picture."""
    if small:
        return {"BSR(2)": strategies.bsr(steps, 2)}
    return {
        "DP-SGD": strategies.identity(steps),
        "BSR(4)": strategies.bsr(steps, 4),
        "BSR(64)": strategies.bsr(steps, 64),
        "BISR(4)": strategies.bisr(steps, 4),
        "BandMF(64)": strategies.band_mf(steps, 64),
    }


def _panel(title: str, strategy: strategies.Strategy, bins: int, effort: Effort) -> Drawing:
    """A diagram with a curve for each method."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=strategy.steps, strategy=strategy)
    gram = _proven(plan, "gram", effort.epsilons, effort.budget)
    renyi = _proven(plan, "renyi", effort.epsilons, effort.budget)
    near = renyi.y[renyi.x.index(effort.conditional[0])]
    curves = [
        renyi,
        gram,
        _from_below(plan, gram, effort.budget),
        _proven(plan, "conditional", effort.conditional, effort.budget, start=near),
        _estimate(plan, gram),
    ]
    return Drawing(
        name=title,
        title=title,
        x_label="ε",
        y_label="noise multiplier",
        setting={
            "steps": strategy.steps,
            "bins": bins,
            "delta": DELTA,
            "budget": effort.budget,
        },
        curves=curves,
    )


def _proven(
    plan: hs.Plan,
    method: str,
    epsilons: Sequence[float],
    budget: float,
    *,
    start: float | None = None,
) -> Curve:
    """The noise that a method asks for; each search starts from the answer before it."""
    began = time.perf_counter()
    noises: list[float] = []
    for epsilon in epsilons:
        found = hs.calibrate(
            plan,
            epsilon=epsilon,
            delta=DELTA,
            method=method,
            accuracy=TOLERANCES[method],
            budget=budget,
            start=noises[-1] if noises else start,
        )
        noises.append(found.noise_multiplier)
    seconds = round(time.perf_counter() - began, 1)
    return Curve(method, list(epsilons), [round(noise, 5) for noise in noises], seconds)


def _from_below(plan: hs.Plan, proven: Curve, budget: float) -> Curve:
    """Noises at which the lower bound is above the wanted epsilon, by at most twice the tolerance.

    epsilon falls with the noise, so any noise that is enough is larger.
    """
    began = time.perf_counter()
    tolerance = TOLERANCES[LOWER]
    accuracy = tolerance / 2 if plan.strategy.is_identity else CARELESS

    def epsilon_at(noise: float) -> float:
        guarantee = hs.account(
            plan, noise_multiplier=noise, method="gram", accuracy=accuracy, budget=budget
        )
        return guarantee.answer(delta=DELTA).lower or 0.0

    noises = []
    for epsilon, enough in zip(proven.x, proven.y, strict=True):
        search = NoiseSearch(epsilon_at, start=0.97 * enough, tolerance=tolerance)
        noises.append(round(search.noise(epsilon * (1 + 2 * tolerance)), 5))
    return Curve(LOWER, proven.x, noises, round(time.perf_counter() - began, 1))


def _estimate(plan: hs.Plan, proven: Curve) -> Curve:
    """The estimated noise; its error is that of delta over the power with which delta falls."""
    began = time.perf_counter()
    noises, errors = [], []
    for epsilon, start in zip(proven.x, proven.y, strict=True):
        found, less = (
            hs.estimate_noise(plan, epsilon=epsilon, delta=delta, start=start, seed=SEED)
            for delta in (DELTA, 2 * DELTA)
        )
        noise = found.noise_multiplier
        power = math.log(2) / math.log(noise / less.noise_multiplier)
        noises.append(round(noise, 5))
        errors.append(round(2 * found.relative_error * noise / power, 5))
    return Curve(ESTIMATE, proven.x, noises, round(time.perf_counter() - began, 1), errors)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
