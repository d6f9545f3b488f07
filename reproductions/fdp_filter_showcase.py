"""Figure 2 of the f-DP filter paper: epsilon of the Rényi and of the approximate Gaussian filter.

3650 sampled Gaussians at rate 0.01 with noise between 1.4 and 2.5. The approximate filter is
asymptotic and under-reports: it lies below the price of the very same steps fixed in advance, which
is the third line. The Rényi filter is proven; its order is fixed before the run, for each delta the
best one.

Usage: python reproductions/fdp_filter_showcase.py [--small] [--output DIR]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from curves import Drawing, curve, run
from hockeystick import filters
from hockeystick.filters.showcase import best_renyi_epsilon, showcase_schedule

__all__ = ["APPROXIMATE", "RENYI", "TRUTH", "draw", "main"]

RENYI = "Rényi filter, proven"
APPROXIMATE = "approximate Gaussian filter: asymptotic, too small"
TRUTH = "the same steps fixed in advance"


def draw(small: bool) -> Drawing:
    """epsilon against delta; in small mode at two deltas."""
    schedule = showcase_schedule()
    budget = math.fsum(
        stretch.steps * stretch.rate**2 * math.expm1(stretch.noise_multiplier**-2.0) / 2
        for stretch in schedule
    )
    approximate = filters.ApproximateGaussian(mu=math.sqrt(2 * budget) * (1 + 1e-12))
    for rate, noise, steps in schedule:
        approximate.request(rate=rate, noise_multiplier=noise, steps=steps, clip=False)
    audit = approximate.audit()
    deltas = (
        (1e-8, 1e-5) if small else [float(f"{delta:.4g}") for delta in np.logspace(-10, -3, 29)]
    )
    return Drawing(
        name="fdp_filter_showcase",
        title="Filters for 3650 sampled Gaussians with changing noise, q = 0.01",
        x_label="δ",
        y_label="ε",
        setting={
            "steps": sum(stretch.steps for stretch in schedule),
            "rate": schedule[0].rate,
            "budget": budget,
            "mu": math.sqrt(2 * budget),
        },
        curves=[
            curve(RENYI, deltas, lambda delta: best_renyi_epsilon(schedule, delta=delta)[0]),
            curve(APPROXIMATE, deltas, lambda delta: audit.epsilon(delta).claimed),
            curve(TRUTH, deltas, lambda delta: audit.epsilon(delta).realised),
        ],
        log_y=False,
        marked=False,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
