"""Handwritten digits with settings that change while training: filters beside a fixed schedule.

scikit-learn's 1,797 digits: 1,200 to train on, 237 that count as public and drive the noise, 360
for tests. Softmax regression, rate 0.05, delta = 1e-5. Noise starts at 4 and is multiplied by 0.8
whenever the loss on the public digits has not improved for two looks at it, one in every 5 steps,
down to 1; the run ends when the filter refuses. The fixed schedule has the same noises, evenly
spread from 4 to 1. Then budgets of single examples: one third of the examples allow a tenth of the
budget. With a common budget everybody has the smallest one. Takes some minutes.

Usage: python reproductions/adaptive_digits.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import hockeystick as hs
from curves import Curve, Drawing, Panels, run
from hockeystick import filters
from hockeystick.errors import BudgetExceeded

__all__ = ["draw", "load", "main"]

EXAMPLES, PUBLIC, CLASSES, DELTA, RATE = 1_200, 237, 10, 1e-5, 0.05
NOISES, FACTOR, LOOK, PATIENCE = (1.0, 4.0), 0.8, 5, 2
LEARNING_RATE, CLIP, MOST_STEPS = 4.0, 1.0, 5_000
SPLIT_SEED = 20_260
# Budgets of their own: a third of the examples allow this share.
SHARE, INDIVIDUAL_STEPS = 0.1, 200
EXPECTED = [(RATE, noise, 1) for noise in (1.0, 1.5, 2.0, 3.0, 4.0)]

Array = np.ndarray[Any, np.dtype[np.float64]]


class Part(NamedTuple):
    """Points with a constant coordinate, and labels."""

    points: Array
    labels: np.ndarray[Any, np.dtype[np.int64]]


def load() -> list[Part]:
    """To train on, public ones, tests; always the same split."""
    points, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    points = np.hstack((points[order] / 16, np.ones((len(labels), 1))))
    ends = (EXAMPLES, EXAMPLES + PUBLIC)
    parts = zip(np.split(points, ends), np.split(labels[order], ends), strict=True)
    return [Part(*one) for one in parts]


def shares_of(weights: Array, points: Array) -> Array:
    """The probabilities of the classes."""
    scores = points @ weights
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


class Outcome(NamedTuple):
    """Of one run: its steps, the accuracy on tests in per cent, and the last noise."""

    steps: int
    accuracy: float
    noise: float


def train(
    budget: Any,
    seed: int,
    *,
    adapt: Callable[[Any, Array, int], None],
    steps: int = MOST_STEPS,
    noise: float = NOISES[1],
) -> Outcome:
    """A run that ends when the filter refuses, or after so many steps."""
    train_on, _, tests = load()
    private = hs.training.PrivateRun(
        hs.Plan(sampling=hs.Poisson(rate=RATE), steps=steps),
        examples=EXAMPLES,
        dimension=train_on.points.shape[1] * CLASSES,
        noise_multiplier=noise,
        max_grad_norm=CLIP,
        filter=budget,
        rng=seed,
    )
    weights = np.zeros((train_on.points.shape[1], CLASSES))

    def gradients(batch: Any) -> Array:
        points, labels = train_on.points[batch], train_on.labels[batch]
        errors = shares_of(weights, points) - np.eye(CLASSES)[labels]
        rows = points[:, :, None] * errors[:, None, :]
        return rows.reshape(len(batch), weights.size)

    taken = 0
    for taken in range(steps):
        adapt(private, weights, taken)
        try:
            weights = weights - LEARNING_RATE * private.step(gradients).reshape(weights.shape)
        except BudgetExceeded:
            break
    else:
        taken = steps
    found = float((shares_of(weights, tests.points).argmax(axis=1) == tests.labels).mean())
    return Outcome(taken, 100 * found, private.noise_multiplier)


def on_plateaus() -> Callable[[Any, Array, int], None]:
    """Less noise when the public loss stops improving."""
    public = load()[1]
    best, since = [np.inf], [0]

    def adapt(private: Any, weights: Array, taken: int) -> None:
        if taken == 0 or taken % LOOK:
            return
        right = shares_of(weights, public.points)[np.arange(len(public.labels)), public.labels]
        loss = float(-np.log(np.maximum(right, 1e-12)).mean())
        since[0] = 0 if loss < best[0] else since[0] + 1
        best[0] = min(best[0], loss)
        if since[0] >= PATIENCE and private.noise_multiplier > NOISES[0]:
            since[0] = 0
            private.set(noise_multiplier=max(NOISES[0], FACTOR * private.noise_multiplier))

    return adapt


def spread(count: int) -> list[float]:
    """Evenly spread noises, from the most to the least."""
    high, low = NOISES[1], NOISES[0]
    return [round(high + (low - high) * (i + 0.5) / count, 4) for i in range(count)]


def fixed_budget(epsilon: float) -> tuple[Any, list[float]]:
    """A menu that is the fixed schedule itself, as long as it may be."""

    def made(count: int) -> Any:
        menu = [(RATE, noise, 1) for noise in spread(count)]
        design = filters.MenuDesign(menus=[menu])
        return filters.Residual(epsilon=epsilon, delta=DELTA, design=design)

    low, high = 1, 2_000
    while high - low > 1:
        middle = (low + high) // 2
        try:
            made(middle)
        except hs.errors.InvalidParameter:
            high = middle
        else:
            low = middle
    return made(low), spread(low)


def as_planned(noises: list[float]) -> Callable[[Any, Array, int], None]:
    """The noises one after the other."""

    def adapt(private: Any, weights: Array, taken: int) -> None:  # noqa: ARG001
        if taken < len(noises):
            private.set(noise_multiplier=noises[taken])

    return adapt


def adaptive(epsilon: float, seeds: int, *, small: bool) -> dict[str, list[Outcome]]:
    """Outcomes for each filter, and for the fixed schedule, one for each seed."""
    target = {"epsilon": epsilon, "delta": DELTA}
    planned, noises = fixed_budget(epsilon)
    makers: dict[str, Callable[[], Any]] = {
        "Renyi": lambda: filters.Renyi(**target, expected=EXPECTED)
    }
    if not small:
        levy = filters.Levy(**target, expected=EXPECTED)
        residual = filters.Residual(**target, expected=[(RATE, NOISES, 1)])
        makers |= {
            "RenyiOrders": lambda: filters.RenyiOrders(**target, expected=EXPECTED),
            "Levy": lambda: filters.Levy(**target, process=levy.process),
            "Residual": lambda: filters.Residual(**target, design=residual.design),
        }
    found = {
        name: [train(make(), seed, adapt=on_plateaus()) for seed in range(seeds)]
        for name, make in makers.items()
    }
    found["fixed"] = [
        train(
            filters.Residual(**target, design=planned.design),
            seed,
            adapt=as_planned(noises),
            steps=len(noises),
        )
        for seed in range(seeds)
    ]
    return found


def individual(epsilon: float, seeds: int) -> dict[str, list[Outcome]]:
    """With a common budget, and with budgets of their own; everybody's budget is kept to."""
    some = np.where(np.arange(EXAMPLES) % 3 == 0, SHARE, 1.0)
    given = {"the smallest budget for all": np.full(EXAMPLES, SHARE), "own budgets": some}
    given["own budgets, own rates"] = some
    rates = {"own budgets, own rates": np.sqrt(some)}
    found: dict[str, list[Outcome]] = {}
    for name, shares in given.items():
        found[name] = []
        for seed in range(seeds):
            budgets = filters.Individual.renyi(
                examples=EXAMPLES,
                epsilon=epsilon,
                delta=DELTA,
                expected=[(RATE, 2.0, INDIVIDUAL_STEPS)],
                shares=shares,
                participation=rates.get(name),
            )
            outcome = train(
                budgets,
                seed,
                adapt=lambda *_: None,
                steps=INDIVIDUAL_STEPS,
                noise=2.0,
            )
            found[name].append(outcome)
    return found


def drawing(
    name: str, title: str, found: dict[float, dict[str, list[Outcome]]], value: str, seconds: float
) -> Drawing:
    """Means over seeds against epsilon, one curve for each way."""
    epsilons = sorted(found)
    curves = [
        Curve(
            way,
            list(epsilons),
            [float(np.mean([getattr(one, value) for one in found[e][way]])) for e in epsilons],
            seconds,
        )
        for way in found[epsilons[0]]
    ]
    return Drawing(
        name, title, "epsilon", value, {"delta": DELTA, "rate": RATE}, curves, False, False
    )


def draw(small: bool) -> Panels:
    """Six seeds; in small mode two, at one epsilon and with one filter."""
    epsilons, seeds = ((1.0,), 2) if small else ((1.0, 2.0), 6)
    began = time.process_time()
    first = {epsilon: adaptive(epsilon, seeds, small=small) for epsilon in epsilons}
    seconds = time.process_time() - began
    second = {epsilon: individual(epsilon, seeds) for epsilon in epsilons}
    took = time.process_time() - began - seconds
    for found in (first, second):
        for epsilon, ways in found.items():
            for way, outcomes in ways.items():
                steps = [one.steps for one in outcomes]
                right = [one.accuracy for one in outcomes]
                error = np.std(right, ddof=1) / np.sqrt(len(right))
                print(
                    f"epsilon {epsilon:g}, {way}: steps {np.mean(steps):.0f} "
                    f"({min(steps)} to {max(steps)}), accuracy {np.mean(right):.1f} "
                    f"+- {error:.1f}, last noise {np.mean([one.noise for one in outcomes]):.2f}"
                )
    return Panels(
        "adaptive_digits",
        "Digits with settings that change while training",
        [
            drawing("steps", "Adaptive noise", first, "steps", seconds),
            drawing("accuracy", "Adaptive noise", first, "accuracy", seconds),
            drawing("individual", "Budgets of examples", second, "accuracy", took),
        ],
        columns=3,
        legends=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
