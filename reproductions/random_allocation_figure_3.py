"""Figure 3 of the random allocation paper: delta against the number of steps, at low noise.

Noise 0.3, epsilon = 10, one pick: here allocation is more private than Poisson sampling.

Usage: python reproductions/random_allocation_figure_3.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import hockeystick as hs
from curves import Drawing, curve, delta_of, run
from printed_analyses import theorem_4_1_delta

NOISE, EPSILON = 0.3, 10.0


def draw(small: bool) -> Drawing:
    """The curves; in small mode two lengths."""
    lengths = [10, 100] if small else [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000]

    def method(name, plan):
        return delta_of(name, plan, noise=NOISE, epsilon=EPSILON)

    def allocation(length):
        return hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=length), steps=length)

    def poisson(length):
        return hs.Plan(sampling=hs.Poisson(rate=1 / length), steps=length)

    def printed(length):
        return theorem_4_1_delta(NOISE, int(length), epsilon=EPSILON)

    curves = [
        curve("Theorem 4.1, rate 1/t", lengths, printed),
        curve("Poisson, renyi", lengths, method("renyi", poisson)),
        curve("Poisson, profile", lengths, method("profile", poisson)),
        curve("renyi", lengths, method("renyi", allocation)),
        curve("decomposition", lengths, method("decomposition", allocation)),
        curve("profile", lengths, method("profile", allocation)),
    ]
    return Drawing(
        name="random_allocation_figure_3",
        title=f"One of t steps, noise {NOISE:g}, ε = {EPSILON:g}",
        x_label="steps t",
        y_label="δ",
        setting={"noise_multiplier": NOISE, "epsilon": EPSILON},
        curves=curves,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
