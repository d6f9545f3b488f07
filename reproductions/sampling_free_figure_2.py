"""Figure 2 of the sampling-free paper: noise against epsilon for DP-SGD and BSR, delta = 1e-5.

Balls-in-bins with b bins, n = k b steps. The paper's two accountants as `renyi` and `conditional`,
with everything that the errata page says about them, and a Monte Carlo reference, which is an
estimate. New is `profile`: for independent noise (DP-SGD) it is exact.

Usage: python reproductions/sampling_free_figure_2.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import hockeystick as hs
from curves import Panels, run
from noise_against_epsilon import DELTA, Effort, noise_panel

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
FULL = Effort(EPSILONS, EPSILONS, draws=20_000)
# With 3,000 steps one noise takes `conditional` up to a minute.
LONG = Effort(EPSILONS, EPSILONS, draws=10_000)
SMALL, TINY = Effort((1.0, 4.0), (1.0,), draws=4_000), Effort((1.0, 4.0), (), draws=4_000)


def draw(small: bool) -> Panels:
    """The panels; in small mode two of them, with three bins."""
    if small:
        settings = [("DP-SGD", 1, 6, 2, SMALL), ("BSR", 2, 6, 2, TINY)]
    else:
        settings = [
            ("DP-SGD", 1, 100, 1, FULL),
            ("DP-SGD", 1, 1_000, 10, FULL),
            ("DP-SGD", 1, 3_000, 10, LONG),
            ("BSR", 4, 100, 1, FULL),
            ("BSR", 4, 1_000, 10, FULL),
            ("BSR", 64, 3_000, 10, LONG),
        ]
    panels = [
        noise_panel(
            f"{name}, n = {steps:,}, k = {epochs}" + (f", p = {bands}" if bands > 1 else ""),
            hs.strategies.bsr(steps, bands),
            bins=steps // epochs,
            effort=effort,
        )
        for name, bands, steps, epochs, effort in settings
    ]
    title = f"Noise for a wanted ε, δ = {DELTA:g}"
    return Panels("sampling_free_figure_2", title, panels, columns=min(3, len(panels)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
