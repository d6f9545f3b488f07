"""Analyses as papers print them, where the library has better ones: for the figures only.

`theorem_3_2` has the corrected constant (sinh instead of cosh). Its share for mechanisms that are
not pure rests on a lemma with a gap, see the errata page: a curve, not a guarantee.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

import hockeystick as hs
from hockeystick.analyses.convolution import decomposed
from hockeystick.profile.resolution import BOTH

__all__ = [
    "dong_et_al",
    "dong_et_al_divergence",
    "orders_up_to",
    "theorem_3_2",
    "theorem_4_1",
    "theorem_4_1_delta",
]

ACCURACY = 5e-3
# Shares of delta for the mechanism's own delta and for the failure of the reduction.
OWN, FAILURE = (0.9, 0.5, 0.1), (0.3, 0.05, 0.005)


def theorem_3_2(noise: float, steps: int, *, epochs: int = 1, delta: float) -> float:
    """Poisson sampling at a raised rate; infinite where the rate would exceed 1."""
    step = hs.Profile.gaussian(noise_multiplier=noise)
    rates: dict[tuple[float, float], float] = {}
    for own, failure in itertools.product(OWN, FAILURE):
        local = step.epsilon(own * delta / (epochs * steps))
        deviation = math.sqrt(2 * math.log(epochs / (failure * delta)) / steps)
        excess = math.sinh(min(local, 300.0)) * deviation
        if own + failure < 1 and excess < 1 - 1 / steps:
            rates[own, failure] = 1 / (steps * (1 - excess))
    found = [math.inf]
    for (own, failure), rate in rates.items():
        run = step.subsample(rate).self_compose(epochs * steps)
        left = (1 - own - failure) * delta
        found.append(run.epsilon_bounds(left, directions=BOTH, accuracy=ACCURACY).upper)
    return min(found)


def theorem_4_1(noise: float, steps: int, *, epochs: int = 1, delta: float) -> float:
    """The decomposition with the paper's rate, 1/t."""
    run = _at_one_over_t(noise, steps).self_compose(epochs)
    return run.epsilon_bounds(delta, directions=BOTH, accuracy=ACCURACY).upper


def theorem_4_1_delta(noise: float, steps: int, *, epsilon: float) -> float:
    """The same, for delta."""
    run = _at_one_over_t(noise, steps)
    return run.delta_bounds(epsilon, directions=BOTH, accuracy=ACCURACY).upper


def orders_up_to(largest: int, noise: float, steps: int, *, delta: float) -> float:
    """Theorem 4.6 with integer orders up to a limit, as the paper computed it; remove direction."""
    orders = np.arange(2, largest + 1)
    divergence = hs.Profile.gaussian(noise_multiplier=noise).allocate(steps).renyi(orders)
    return float(np.min(_converted(divergence, orders, delta)))


def dong_et_al(noise: float, picks: int, steps: int, *, delta: float) -> float:
    """The bound of [DongChenOzgur25] for several picks; remove direction, orders from 2 on."""
    orders = np.concatenate((np.linspace(2, 10, 161), np.arange(11, 200)))
    divergence = dong_et_al_divergence(noise, picks, steps, orders)
    return float(np.min(_converted(divergence, orders, delta)))


def dong_et_al_divergence(noise: float, picks: int, steps: int, orders: NDArray) -> NDArray:
    """log E[e^(a i / (2 noise^2))] for order a, i the steps that two independent draws share.

    At order 2 the exact divergence. Below it is no bound: one pick out of three, noise 1, order
    1.5 has 0.331 where this is 0.317 (tests/reproductions/test_random_allocation_figures.py).
    """
    common = np.arange(max(0, 2 * picks - steps), picks + 1)
    log_chance = (
        _log_choose(picks, common)
        + _log_choose(steps - picks, picks - common)
        - _log_choose(steps, np.array(picks))
    )
    return np.logaddexp.reduce(
        log_chance[None, :] + orders[:, None] * common[None, :] / (2 * noise**2), axis=1
    )


def _at_one_over_t(noise: float, steps: int) -> hs.Profile:
    return decomposed(hs.Profile.gaussian(noise_multiplier=noise), steps, rate=1 / steps)


def _converted(divergence, orders, delta):
    return divergence + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)


def _log_choose(n, k):
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
