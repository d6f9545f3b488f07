"""Figure 2 of the random allocation paper: epsilon against the number of epochs.

1 out of 10,000 steps with a fresh draw in every epoch, noise multiplier 1, delta = 1e-8.

Usage: python reproductions/random_allocation_figure_2.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import hockeystick as hs
from curves import Drawing, curve, epsilon_of, run
from printed_analyses import theorem_3_2, theorem_4_1

NOISE, DELTA = 1.0, 1e-8


def draw(small: bool) -> Drawing:
    """The curves; in small mode two numbers of epochs and a hundred steps."""
    steps = 100 if small else 10_000
    epochs = [1, 10] if small else [1, 2, 3, 5, 10, 20, 30, 50, 100]

    def method(name, sampling):
        def plan(count):
            return hs.Plan(sampling=sampling, steps=count * steps)

        return epsilon_of(name, plan, noise=NOISE, delta=DELTA)

    def printed(theorem):
        return lambda count: theorem(NOISE, steps, epochs=int(count), delta=DELTA)

    allocation = hs.RandomAllocation(picks=1, out_of=steps)
    poisson = hs.Poisson(rate=1 / steps)
    curves = [
        curve("Poisson, renyi", epochs, method("renyi", poisson)),
        curve("renyi", epochs, method("renyi", allocation)),
        curve("Theorem 3.2, as corrected", epochs, printed(theorem_3_2)),
        curve("Theorem 4.1, rate 1/t", epochs, printed(theorem_4_1)),
        curve("poisson-reduction", epochs, method("poisson-reduction", allocation)),
        curve("decomposition", epochs, method("decomposition", allocation)),
        curve("Poisson, profile", epochs, method("profile", poisson)),
        curve("profile", epochs, method("profile", allocation)),
    ]
    return Drawing(
        name="random_allocation_figure_2",
        title=f"One of {steps:,} steps in every epoch, noise {NOISE:g}, δ = {DELTA:g}",
        x_label="epochs",
        y_label="ε",
        setting={"steps": steps, "noise_multiplier": NOISE, "delta": DELTA},
        curves=curves,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
