"""Figure 1 of the sampling-free paper: what bins have in common, as pictures of Gram matrices.

3,000 steps, ten epochs of 300 bins. Entry (i, j) is the inner product of what an example adds to
C G from bin i and from bin j, here over the largest entry. Banded strategies give matrices that are
banded on a ring, with corners: the last bins of an epoch meet the first ones of the next. The table
and the JSON file hold the largest entry at each distance on the ring.

Usage: python reproductions/sampling_free_figure_1.py [--small] [--output DIR]
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
from hockeystick import strategies
from hockeystick.analyses.renyi.ring import envelope
from hockeystick.report.figure import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS, SMALLEST = 10, 1e-2


@dataclass(frozen=True)
class HeatMaps:
    """Matrices by title, and what they are summed up as."""

    name: str
    matrices: dict[str, NDArray]
    summary: Drawing

    def print(self) -> None:
        """The largest entries by distance."""
        self.summary.print()

    def write(self, directory: Path) -> None:
        """The matrices as PNG, their summary as JSON."""
        write_picture(directory, self.name, self.summary.content(), self._figure)

    def _figure(self) -> Figure:
        from matplotlib.colors import LogNorm

        figure = new_figure(width=13.2, height=3.7)
        title = self.summary.title.partition(":")[0]
        figure.suptitle(title, x=0.02, ha="left", fontsize=11, color=INK)
        grid = figure.subplots(1, len(self.matrices))
        for axes, (title, matrix) in zip(grid, self.matrices.items(), strict=True):
            shown = np.where(matrix > 0, np.maximum(matrix, SMALLEST), np.nan)
            image = axes.imshow(shown, norm=LogNorm(SMALLEST, 1.0), cmap="viridis")
            axes.set_title(title, loc="left", fontsize=10, color=INK)
            axes.set_facecolor("white")
            axes.set_xlabel("bin", color=INK)
            axes.tick_params(colors=INK, labelsize=8)
        grid[0].set_ylabel("bin", color=INK)
        bar = figure.colorbar(image, ax=grid, shrink=0.85, pad=0.01)
        bar.set_label("entry / largest entry (white: 0)", color=INK, fontsize=9)
        return figure


def draw(small: bool) -> HeatMaps:
    """The matrices; in small mode 200 steps."""
    steps, bands = (200, 8) if small else (3_000, 64)
    bins = steps // EPOCHS
    makers = {
        f"BandMF, p = {bands}": lambda: strategies.band_mf(steps, bands),
        f"BSR, p = {bands}": lambda: strategies.bsr(steps, bands),
        "BandInvMF, p = 4": lambda: strategies.band_inv_mf(steps, 4, separation=bins),
        f"BISR, p = {bands}": lambda: strategies.bisr(steps, bands),
    }
    matrices, curves = {}, []
    for title, maker in makers.items():
        began = time.perf_counter()
        gram = maker().gram(spacing=bins)
        matrices[title] = gram / gram.max()
        largest = [float(f"{value:.5g}") for value in envelope(matrices[title]).largest]
        distances = [float(d) for d in range(len(largest))]
        curves.append(Curve(title, distances, largest, round(time.perf_counter() - began, 2)))
    summary = Drawing(
        name="sampling_free_figure_1",
        title=f"Gram matrices, n = {steps:,}, k = {EPOCHS}: largest entry by distance",
        x_label="distance on the ring",
        y_label="entry / largest entry",
        setting={"steps": steps, "bins": bins},
        curves=curves,
    )
    return HeatMaps(summary.name, matrices, summary)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
