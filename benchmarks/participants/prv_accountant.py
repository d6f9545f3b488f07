"""prv-accountant at an absolute epsilon error of 0.01."""

from __future__ import annotations

from functools import partial

from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

import settings as s  # beside harness.py
from starting import importing


def poisson(noise, rate, steps, delta):
    """Plain Poisson sampling."""
    mechanism = PoissonSubsampledGaussianMechanism(
        sampling_probability=rate, noise_multiplier=noise
    )
    accountant = PRVAccountant(
        prvs=[mechanism],
        max_self_compositions=[steps],
        eps_error=0.01,
        delta_error=delta / 1000,
    )
    lower, _, upper = accountant.compute_epsilon(delta, [steps])
    return lower, upper


CASES = {
    "poisson": partial(poisson, **s.POISSON),
    "both-bounds": partial(poisson, **s.POISSON),
    "import": importing("prv_accountant"),
}
SWEEPS = {
    "steps": lambda steps: poisson(steps=steps, **s.SWEEPS["steps"]),
    "delta": lambda delta: poisson(delta=delta, **s.SWEEPS["delta"]),
}
