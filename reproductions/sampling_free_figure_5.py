"""Figure 5 of the sampling-free paper: the loss whose lower tail bounds the posterior, by epoch.

DP-SGD, 100 bins, four epochs, noise 5, remove direction. Before step n, in which bin i takes part,
the loss is log(average over the other bins j of p(x | j) / p(x | i)) for the earlier outputs x of a
run with the example: 100,000 draws for the last step of each epoch and the first of the next. The
law widens when a bin takes part once more, hence the jumps in Figures 4 and 6.

Usage: python reproductions/sampling_free_figure_5.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from curves import Curve, Drawing, run, write_picture
from hockeystick.report.figure import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE, EPOCHS, CELLS = 5.0, 4, 120


@dataclass(frozen=True)
class Histograms:
    """Densities at the transitions between epochs: pairs of curves, the end and the start."""

    name: str
    densities: Drawing

    def print(self) -> None:
        """The densities at some losses."""
        self.densities.print()

    def write(self, directory: Path) -> None:
        """One diagram for each transition."""
        write_picture(directory, self.name, self.densities.content(), self._figure)

    def _figure(self) -> Figure:
        curves = self.densities.curves
        figure = new_figure(width=12.0, height=3.8)
        figure.suptitle(self.densities.title, x=0.02, ha="left", fontsize=11, color=INK)
        grid = figure.subplots(1, EPOCHS - 1, sharex=True, sharey=True)
        for i, axes in enumerate(grid):
            for line, colour in zip(curves[2 * i : 2 * i + 2], ("#0072B2", "#D55E00"), strict=True):
                axes.fill_between(line.x, line.y, step="mid", color=colour, alpha=0.25)
                axes.step(line.x, line.y, where="mid", color=colour, label=line.label)
            axes.set(yscale="log", ylim=(1e-3, 300.0))
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(colors=INK, labelsize=9)
            axes.set_xlabel("log of average p(x | j) / p(x | current bin)", color=INK)
            axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left")
        grid[0].set_ylabel(self.densities.y_label, color=INK)
        return figure


def losses(step: int, bins: int, draws: int, rng: np.random.Generator) -> NDArray:
    """The loss before `step`, counted from 0, in which the bin step % bins takes part.

    The outputs count through each bin's own sum: c_j/s^2 is its variance, and added to its mean for
    the bin of the example, if the bin has taken part c_j times.
    """
    current = step % bins
    strength = np.array([step // bins + (j < current) for j in range(bins)]) / NOISE**2
    xi = rng.standard_normal((draws, bins)) * np.sqrt(strength)
    member = rng.integers(bins, size=draws)
    xi[np.arange(draws), member] += strength[member]
    xi -= strength / 2
    others = np.delete(xi, current, axis=1)
    return np.log(np.exp(others).mean(axis=1)) - xi[:, current]


def draw(small: bool) -> Histograms:
    """The histograms; in small mode 20 bins and fewer draws."""
    bins, draws = (20, 5_000) if small else (100, 100_000)
    rng = np.random.default_rng(2026)
    edges = np.linspace(-1.5, 1.5, CELLS + 1)
    middles = ((edges[1:] + edges[:-1]) / 2).round(4).tolist()
    curves, spreads = [], {}
    for epoch in range(1, EPOCHS):
        for name, step in (("last", epoch * bins - 1), ("first", epoch * bins)):
            began = time.perf_counter()
            loss = losses(step, bins, draws, rng)
            density, _ = np.histogram(loss, edges)
            density = (density / draws / (edges[1] - edges[0])).round(5).tolist()
            label = f"{name} step of epoch {epoch + (name == 'first')}"
            spreads[f"standard deviation, {label}"] = round(float(loss.std()), 4)
            label += f" (sd {loss.std():.2f})"
            curves.append(Curve(label, middles, density, round(time.perf_counter() - began, 2)))
    densities = Drawing(
        name="sampling_free_figure_5",
        title=f"Loss of the current bin: DP-SGD, b = {bins}, σ = {NOISE:g}, {draws:,} draws each",
        x_label="loss",
        y_label="density",
        setting={"bins": bins, "noise_multiplier": NOISE, "draws": draws, **spreads},
        curves=curves,
        log_x=False,
    )
    return Histograms(densities.name, densities)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
