"""random-allocation: its direct method, Renyi divergences by a sum over integer partitions.

Warm is its best case: the first call compiles (for each length of a partition anew) and fills its
cache of partitions, and both stay for the calls after it. Only the cache of finished divergences is
emptied, so that a call computes what it answers.
"""

from __future__ import annotations

from random_allocation.comparisons.structs import PrivacyParams, SchemeConfig, Verbosity
from random_allocation.random_allocation_scheme.direct import (
    allocation_epsilon_direct,
    allocation_RDP_remove,
)

import settings as s  # beside harness.py
from starting import importing


def _divergence(order):
    return allocation_RDP_remove(order, s.RENYI["noise"], s.RENYI["out_of"])


def largest_order():
    """The largest order alone."""
    allocation_RDP_remove.cache_clear()
    return None, _divergence(s.RENYI["largest"])


def compared_orders():
    """Every order that is compared."""
    allocation_RDP_remove.cache_clear()
    divergences = [_divergence(order) for order in range(2, s.RENYI["compared"] + 1)]
    return None, divergences[-1], divergences


def _epsilons(noise, out_of, delta, epochs):
    """Both directions; it stops at the first order whose divergence is above its epsilon."""
    allocation_RDP_remove.cache_clear()
    config = SchemeConfig(
        allocation_direct_alpha_orders=list(range(2, s.RENYI["largest"] + 1)),
        verbosity=Verbosity.NONE,
    )
    return [
        allocation_epsilon_direct(
            PrivacyParams(sigma=noise, num_steps=out_of, num_epochs=number, delta=delta), config
        )
        for number in epochs
    ]


def five_runs():
    """More and more epochs."""
    epsilons = _epsilons(**s.FIVE_RUNS)
    return None, epsilons[-1], epsilons


def block(out_of):
    """Longer and longer blocks."""
    return None, _epsilons(out_of=out_of, epochs=(1,), **s.SWEEPS["block"])[0]


CASES = {
    "renyi-60": largest_order,
    "renyi-40": compared_orders,
    "five-runs": five_runs,
    "import": importing("random_allocation"),
}
SWEEPS = {"block": block}
