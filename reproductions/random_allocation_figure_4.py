"""Figure 4 of the random allocation paper: epsilon against the number of picks.

k out of 1,024 steps, noise multiplier 1, delta = 1e-6, with the bound of [DongChenOzgur25].

Usage: python reproductions/random_allocation_figure_4.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import hockeystick as hs
from curves import Drawing, curve, epsilon_of, run
from printed_analyses import dong_et_al

NOISE, DELTA = 1.0, 1e-6


def draw(small: bool) -> Drawing:
    """The curves; in small mode three numbers of picks out of 64."""
    steps = 64 if small else 1_024
    picks = [1, 4, 16] if small else [2**i for i in range(9)]

    def method(name, plan):
        return epsilon_of(name, plan, noise=NOISE, delta=DELTA)

    def allocation(count):
        return hs.Plan(sampling=hs.RandomAllocation(picks=count, out_of=steps), steps=steps)

    def poisson(count):
        return hs.Plan(sampling=hs.Poisson(rate=count / steps), steps=steps)

    def dong(count):
        return dong_et_al(NOISE, int(count), steps, delta=DELTA)

    curves = [
        curve("no amplification", picks, method("gaussian", allocation)),
        curve("Dong et al.", picks, dong),
        curve("Poisson, renyi", picks, method("renyi", poisson)),
        curve("renyi", picks, method("renyi", allocation)),
        curve("poisson-reduction", picks, method("poisson-reduction", allocation)),
        curve("Poisson, profile", picks, method("profile", poisson)),
        curve("profile", picks, method("profile", allocation)),
    ]
    return Drawing(
        name="random_allocation_figure_4",
        title=f"k of {steps:,} steps, noise {NOISE:g}, δ = {DELTA:g}",
        x_label="picks k",
        y_label="ε",
        setting={"steps": steps, "noise_multiplier": NOISE, "delta": DELTA},
        curves=curves,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
