"""Figure 1 of the random allocation paper: epsilon against the noise, 1 out of a million steps.

delta = 1e-10. Every analysis of one allocation, Poisson sampling at the same rate, shuffling and no
amplification at all. The paper's own curves stop being about the mechanisms where its grid is too
coarse: see the errata page.

Usage: python reproductions/random_allocation_figure_1.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import hockeystick as hs
from curves import Drawing, curve, run
from hockeystick.accounting.baselines import BASELINES
from hockeystick.profile.resolution import BOTH
from printed_analyses import orders_up_to, theorem_3_2, theorem_4_1

DELTA = 1e-10


def draw(small: bool) -> Drawing:
    """The curves; in small mode two noises and a thousand steps."""
    steps = 1_000 if small else 10**6
    noises = [0.5, 3.0] if small else np.geomspace(0.3, 4.0, 14).round(3).tolist()
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=steps), steps=steps)

    def method(name):
        return lambda noise: hs.account(plan, noise_multiplier=noise, method=name).epsilon(DELTA)

    def baseline(name):
        def epsilon(noise):
            bound = BASELINES[name].bound(plan, noise)
            return bound.epsilon(DELTA, directions=BOTH, accuracy=1e-3).value

        return epsilon

    curves = [
        curve("no amplification", noises, baseline("no-amplification")),
        curve("shuffling (clones)", noises, baseline("shuffling")),
        curve("Rényi, orders to 60", noises, lambda s: orders_up_to(60, s, steps, delta=DELTA)),
        curve("renyi", noises, method("renyi")),
        curve("Theorem 3.2, as corrected", noises, lambda s: theorem_3_2(s, steps, delta=DELTA)),
        curve("poisson-reduction", noises, method("poisson-reduction")),
        curve("Theorem 4.1, rate 1/t", noises, lambda s: theorem_4_1(s, steps, delta=DELTA)),
        curve("decomposition", noises, method("decomposition")),
        curve("Poisson at rate 1/t", noises, baseline("poisson")),
        curve("profile", noises, method("profile")),
    ]
    return Drawing(
        name="random_allocation_figure_1",
        title=f"One of {steps:,} steps, δ = {DELTA:g}",
        x_label="noise multiplier",
        y_label="ε",
        setting={"steps": steps, "delta": DELTA},
        curves=curves,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
