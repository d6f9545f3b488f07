"""random-allocation: its decomposition into Poisson sampling, both directions, one epoch only."""

from __future__ import annotations

import settings as s  # beside harness.py
from random_allocation.comparisons.structs import PrivacyParams, SchemeConfig
from random_allocation.random_allocation_scheme.decomposition import (
    allocation_epsilon_decomposition,
)


def _epsilon(epochs):
    c = s.FIVE_RUNS
    params = PrivacyParams(
        sigma=c["noise"], num_steps=c["out_of"], num_epochs=epochs, delta=c["delta"]
    )
    try:
        return allocation_epsilon_decomposition(params, SchemeConfig())
    except ValueError:  # It refuses more than one epoch.
        return None


def five_runs():
    """An epsilon where it gives one."""
    epsilons = [_epsilon(epochs) for epochs in s.FIVE_RUNS["epochs"]]
    return None, epsilons[-1], epsilons


CASES = {"five runs": five_runs}
