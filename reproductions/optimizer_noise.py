"""Noise that fits the optimizer: momentum, falling learning rates and averaging.

Logistic regression on the reviews of `reviews`, for single reviews at epsilon 8, five optimizers.
Independent noise (Poisson) stands beside cyclic Poisson with a BandMF strategy for prefix sums, and
with one for what this optimizer computes (`strategies.iterates`). Both need the same noise, so that
what differs is the strategy alone. Errors are squared ones of the iterates, over those of
independent noise. Takes some minutes.

Usage: python reproductions/optimizer_noise.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hockeystick as hs
import reviews
from accuracy_table import Accuracies
from curves import MARKERS, Panels
from head_comparison import Experiment, compare, run_on_data
from head_mechanisms import Mechanism, Size, poisson
from hockeystick.report.figure import INK, curve_style
from linear_heads import Recipe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RECIPES", "draw", "main", "workload"]

RECIPES = {
    "constant rate": Recipe(momentum=0.0, last=1.0),
    "momentum": Recipe(momentum=0.95, last=1.0),
    "falling rate": Recipe(momentum=0.0),
    "momentum, falling rate": Recipe(momentum=0.95),
    "constant rate, averaged": Recipe(momentum=0.0, last=1.0, averaged=0.5),
}
EPSILON = 8.0
BANDS = (16,)
STRATEGIES = ("BandMF for prefix sums", "BandMF for the iterates")


def workload(recipe: Recipe, steps: int) -> Any:
    """What the iterates of the recipe are made of."""
    rates = np.array([recipe.rate(step, steps) for step in range(steps)])
    return hs.strategies.iterates(steps, momentum=recipe.momentum, learning_rates=rates)


def mechanisms(recipe: Recipe, steps: int) -> dict[str, Mechanism]:
    """Independent noise, and two strategies for the same batches."""
    wanted = workload(recipe, steps)

    def cyclic(size: Size, bands: int, of: Any) -> hs.Plan:
        sampling = hs.CyclicPoisson.for_batch_size(
            size.batch_size, examples=size.examples, groups=bands
        )
        strategy = hs.strategies.band_mf(size.steps, bands, workload=of)
        return hs.Plan(sampling=sampling, steps=size.steps, strategy=strategy)

    found = {"independent noise": Mechanism(poisson, lambda _: (1,))}
    for name, of in zip(STRATEGIES, (None, wanted), strict=True):
        found[name] = Mechanism(partial(cyclic, of=of), lambda _: BANDS)
    return {name: replace(one, workload=wanted) for name, one in found.items()}


@dataclass(frozen=True)
class Gains:
    """What each strategy gives each optimizer: errors of the iterates, and accuracies."""

    found: Mapping[str, Accuracies]

    def print(self) -> None:
        """A table for each optimizer."""
        for name, accuracies in self.found.items():
            print(f"{name}:")
            accuracies.print()

    def content(self) -> dict[str, Any]:
        """Everything, for JSON."""
        panels = {name: accuracies.content() for name, accuracies in self.found.items()}
        return {"name": "gains", "optimizers": panels}

    def draw(self, axes: Axes) -> None:
        """Accuracy above independent noise, with 95 % intervals of the paired difference."""
        for i, strategy in enumerate(STRATEGIES):
            at = [k + 0.2 * (i - 0.5) for k in range(len(self.found))]
            pairs = [accuracies.apart(strategy) for accuracies in self.found.values()]
            axes.errorbar(
                at,
                [100 * apart for apart, _ in pairs],
                [100 * half for _, half in pairs],
                label=strategy,
                linestyle="",
                marker=MARKERS[i],
                color=curve_style(i + 1)[0],
                capsize=3,
            )
        axes.axhline(0, color=INK, linewidth=1)
        axes.set_xticks(range(len(self.found)), [name.replace(", ", ",\n") for name in self.found])
        axes.tick_params(axis="x", labelsize=7)
        title = "Test accuracy above independent noise"
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        axes.set_ylabel("percentage points", color=INK)


def draw(folder: Path | None, small: bool) -> Experiment:
    """All optimizers; in small mode two of them, for 20 steps."""
    comparison = replace(reviews.SMALL if small else reviews.FULL, epsilons=(EPSILON,))
    rows, labels, store = reviews.load(folder, small)
    base = reviews.heads_for(rows, labels, comparison, store)
    found, stated = {}, []
    for name, recipe in list(RECIPES.items())[-2 if small else 0 :]:
        tried = replace(comparison, mechanisms=mechanisms(recipe, comparison.size.steps))
        found[name], statements = compare(replace(base, recipe=recipe), tried)
        stated += [{"optimizer": name, **one} for one in statements]
    size = comparison.size
    title = f"Reviews, {size.steps:,} steps, ε = {EPSILON:g}, δ = {comparison.delta:g}"
    spent = store.seconds
    panels = Panels("optimizer_noise", title, [Gains(found)], columns=1, cpu_seconds=spent)
    return Experiment(panels, stated)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
