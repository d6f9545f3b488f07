"""Figure 2 of the f-DP filter paper: epsilon of the Rényi and of the approximate Gaussian filter.

3650 sampled Gaussians at rate 0.01 with noise between 1.4 and 2.5. The approximate filter is
asymptotic and under-reports: it lies below the epsilon of the very same steps fixed in advance,
which is the third line. The Rényi filter is proven; its order is fixed before the run, for each
delta the best one.

Usage: python reproductions/fdp_filter_showcase.py [--small] [--output DIR]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from curves import Drawing, curve, run
from hockeystick import filters
from hockeystick.fdp import EqualSteps
from hockeystick.filters.renyi.divergence import (
    divergence_of_schedule,
    epsilon_at_order,
    order_of_smallest,
)

__all__ = [
    "APPROXIMATE",
    "RENYI",
    "TRUTH",
    "best_renyi_epsilon",
    "draw",
    "main",
    "showcase_schedule",
]

RENYI = "Rényi filter, proven"
APPROXIMATE = "approximate Gaussian filter: asymptotic, too small"
TRUTH = "the same steps fixed in advance"
STEPS, BLOCK, RATE = 3650, 150, 0.01


def showcase_schedule() -> tuple[EqualSteps, ...]:
    """3650 steps at rate 0.01; the noise is 1.5 + sin(pi 150 b / 3650) in block b of 150 steps.

    [Tran26, Section 4.5].
    """
    blocks = range(1, math.ceil(STEPS / BLOCK) + 1)
    return tuple(
        EqualSteps(
            RATE,
            1.5 + math.sin(math.pi / STEPS * BLOCK * block),
            min(BLOCK, STEPS - BLOCK * (block - 1)),
        )
        for block in blocks
    )


def best_renyi_epsilon(schedule: Sequence[EqualSteps], *, delta: float) -> tuple[float, float]:
    """The smallest epsilon of a Renyi filter that this schedule exhausts, and its order.

    Valid for a filter if that order was fixed before the run.
    """

    def epsilon(order: float) -> float:
        return epsilon_at_order(order, divergence_of_schedule(order, schedule), delta)

    order = order_of_smallest(epsilon)
    return epsilon(order), order


def draw(small: bool) -> Drawing:
    """epsilon against delta; in small mode at two deltas."""
    schedule = showcase_schedule()
    budget = math.fsum(
        one.steps * one.rate**2 * math.expm1(one.noise_multiplier**-2.0) / 2 for one in schedule
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
            "steps": sum(one.steps for one in schedule),
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
