"""random-allocation: its decomposition into Poisson sampling, both directions, one epoch only."""

from __future__ import annotations

from random_allocation.comparisons.structs import PrivacyParams, SchemeConfig
from random_allocation.random_allocation_scheme.decomposition import (
    allocation_epsilon_decomposition,
)

import settings as s  # beside harness.py


def _epsilon(noise, out_of, delta, epochs):
    params = PrivacyParams(sigma=noise, num_steps=out_of, num_epochs=epochs, delta=delta)
    try:
        return allocation_epsilon_decomposition(params, SchemeConfig())
    except ValueError:  # It refuses more than one epoch.
        return None


def five_runs():
    """An epsilon where it gives one."""
    c = s.FIVE_RUNS
    epsilons = [_epsilon(c["noise"], c["out_of"], c["delta"], epochs) for epochs in c["epochs"]]
    return None, epsilons[-1], epsilons


def block(out_of):
    """Longer and longer blocks."""
    return None, _epsilon(out_of=out_of, epochs=1, **s.SWEEPS["block"])


CASES = {"five-runs": five_runs}
SWEEPS = {"block": block}
