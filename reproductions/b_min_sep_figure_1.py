"""Figure 1 of the b-min-sep paper, at work: how often an example joins, step by step.

The paper's figure is a drawing of the chain: an example that may join does so with probability p,
and then counts b - 1 steps of rest. Here its law is computed for the CIFAR setting (50,000
examples, batches of 500) with b = 64 and compared with batches that were drawn. From a cold start
batches are nearly three times too large at first, collapse, and need some hundred steps to settle;
a warm start begins in the stationary law, p0 = p/(1 + (b - 1) p).

Usage: python reproductions/b_min_sep_figure_1.py [--small] [--output DIR]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

import hockeystick as hs
from curves import Curve, Drawing, run

__all__ = ["COLD", "DRAWN", "WARM", "draw", "joining", "main"]

EXAMPLES, BATCH_SIZE, SEPARATION, STEPS, SEED = 50_000, 500, 64, 400, 1
COLD, WARM = "cold start (Algorithm 1)", "warm start (Algorithm 2)"
DRAWN = "batches that were drawn, cold start"


def scheme(examples: int, batch_size: float, *, warm_start: bool) -> hs.MinSep:
    """At the rate for the wanted size of batches."""
    return hs.MinSep.for_batch_size(
        batch_size, examples=examples, separation=SEPARATION, warm_start=warm_start
    )


def joining(sampling: hs.MinSep, steps: int) -> list[float]:
    """The probability to join each step.

    Free in step t + 1 is who was free in step t and did not join, and who joined b - 1 steps before
    it: F(t + 1) = (1 - p) F(t) + J(t + 1 - b), with J = p F the probability to join. Before the
    first step nobody joined, or with a warm start everybody did at the stationary rate.
    """
    rate, rest = sampling.rate, sampling.separation
    before = sampling.participation_rate if sampling.warm_start else 0.0
    free = before / rate if sampling.warm_start else 1.0
    joined: list[float] = []
    for step in range(steps):
        joined.append(rate * free)
        since = step + 1 - rest
        free = (1 - rate) * free + (joined[since] if since >= 0 else before)
    return joined


def draw(small: bool) -> Drawing:
    """Expected and drawn sizes of batches; in small mode of a tenth of the data, 150 steps."""
    scale, steps = (10, 150) if small else (1, STEPS)
    examples, batch_size = EXAMPLES // scale, BATCH_SIZE / scale
    cold, warm = (scheme(examples, batch_size, warm_start=start) for start in (False, True))
    x = [float(step) for step in range(1, steps + 1)]
    expected = {COLD: joining(cold, steps), WARM: joining(warm, steps)}
    curves = [
        Curve(label, x, [examples * p for p in probabilities], 0.0)
        for label, probabilities in expected.items()
    ]
    drawn = cold.batches(examples=examples, steps=steps, rng=SEED)
    sizes = [float(batch.size) for batch in drawn]
    errors = [2 * math.sqrt(examples * p * (1 - p)) for p in expected[COLD]]
    shown = np.arange(0, steps, 8)
    curves.append(
        Curve(
            DRAWN, [x[i] for i in shown], [sizes[i] for i in shown], 0.0, [errors[i] for i in shown]
        )
    )
    return Drawing(
        name="b_min_sep_figure_1",
        title=f"Size of b-min-sep batches of {examples:,} examples, b = {SEPARATION}",
        x_label="step",
        y_label="batch size",
        setting={"examples": examples, "batch_size": batch_size, "separation": SEPARATION},
        curves=curves,
        log_x=False,
        log_y=False,
        marked=False,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
