"""Figure 3 of the sampling-free paper: noise against epsilon for BISR, BandInvMF, BLT and BandMF.

Balls-in-bins with 100 bins, ten epochs, delta = 1e-5. The first three matrices have no band of
zeros. Noise multipliers of different strategies do not compare: BISR has the diagonal 1, the
optimised ones have columns of at most length 1.

Usage: python reproductions/sampling_free_figure_3.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from curves import Panels, run
from hockeystick import strategies
from noise_against_epsilon import DELTA, Effort, noise_panel

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
FULL = Effort(EPSILONS, EPSILONS, draws=20_000)
SMALL = Effort((1.0, 4.0), (), draws=4_000)


def draw(small: bool) -> Panels:
    """The panels; in small mode six bins, two epochs and no `conditional`."""
    steps, bins, bands, effort = (12, 6, 4, SMALL) if small else (1_000, 100, 64, FULL)
    made = {
        "BISR, p = 4": strategies.bisr(steps, 4),
        "BandInvMF, p = 4": strategies.band_inv_mf(steps, 4, separation=bins),
        "BLT, 4 buffers": strategies.blt(steps, 4, separation=bins),
        f"BandMF, p = {bands}": strategies.band_mf(steps, bands),
    }
    panels = [
        noise_panel(name, strategy, bins=bins, effort=effort) for name, strategy in made.items()
    ]
    title = f"Noise for a wanted ε, n = {steps:,}, k = {steps // bins}, δ = {DELTA:g}"
    return Panels("sampling_free_figure_3", title, panels, columns=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
