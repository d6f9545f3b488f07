"""prv-accountant at an absolute epsilon error of 0.01."""

from __future__ import annotations

import settings as s  # beside harness.py
from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant


def poisson():
    """Plain Poisson sampling."""
    c = s.POISSON
    mechanism = PoissonSubsampledGaussianMechanism(
        sampling_probability=c["rate"], noise_multiplier=c["noise"]
    )
    accountant = PRVAccountant(
        prvs=[mechanism],
        max_self_compositions=[c["steps"]],
        eps_error=0.01,
        delta_error=c["delta"] / 1000,
    )
    lower, _, upper = accountant.compute_epsilon(c["delta"], [c["steps"]])
    return lower, upper


CASES = {"poisson": poisson}
