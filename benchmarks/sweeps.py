"""Sweeps: one question at growing sizes, asked until somebody fails or takes too long."""

from __future__ import annotations

from dataclasses import dataclass

from cases import (
    ALLOCATION,
    DECOMPOSITION,
    DP,
    JAX,
    JAX_DRAWS,
    OPACUS_PRV,
    OPACUS_RDP,
    OPAKE,
    PLD,
    PRV,
    US,
)

# One call may take this long; starting Python, imports and repetitions are allowed for on top.
CALL_SECONDS = 60.0
START_SECONDS = 20.0
ENOUGH_SECONDS = 3.0


@dataclass(frozen=True)
class Sweep:
    """An axis and its points, from easy to hard, and who is asked."""

    title: str
    axis: str
    points: tuple[float, ...]
    participants: tuple[str, ...]
    answer: str = "epsilon"


POISSON = (US, DP, PRV, OPACUS_RDP, OPACUS_PRV, OPAKE)
SWEEPS = {
    "steps": Sweep(
        "Poisson: epsilon after more steps",
        "steps",
        (100, 1_000, 10_000, 100_000, 1_000_000),
        POISSON,
    ),
    "delta": Sweep(
        "Poisson, 10,000 steps: epsilon at smaller delta",
        "delta",
        (1e-3, 1e-6, 1e-10, 1e-15, 1e-20, 1e-30),
        POISSON,
    ),
    "block": Sweep(
        "random allocation: 1 out of more steps",
        "steps in a block",
        (100, 1_000, 10_000, 100_000, 1_000_000),
        (US, PLD, ALLOCATION, DECOMPOSITION, OPAKE),
    ),
    "bins": Sweep(
        "balls-in-bins, 4 bands, 10 epochs",
        "bins",
        (30, 100, 300, 1_000),
        (US, "method renyi", "draws", JAX_DRAWS),
        "epsilon, or delta from 10,000 draws",
    ),
    "gram-bins": Sweep(
        "balls-in-bins, 4 bands, one epoch, noise near 0.5 to 1, delta 1e-5",
        "bins",
        (100, 1_000, 10_000, 100_000, 1_000_000),
        (US,),
    ),
    "noise-parameters": Sweep(
        "3 rows of noise, 16 bands",
        "parameters",
        (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000),
        (US, "half of our noise", JAX),
        "memory over bands x parameters",
    ),
    "bands": Sweep(
        "best banded strategy, 2,000 steps", "bands", (2, 8, 32, 128, 512), (US, JAX), "MSE"
    ),
    "noise-bands": Sweep(
        "10 rows of noise, 1,000,000 parameters",
        "bands",
        (2, 8, 32, 128),
        (US, JAX),
        "memory over bands x parameters",
    ),
    "draws": Sweep(
        "b-min-sep, 2,000 steps, 16 bands",
        "draws",
        (1_000, 10_000, 100_000, 1_000_000),
        (US, JAX_DRAWS),
        "delta",
    ),
}
