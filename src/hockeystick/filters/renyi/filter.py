"""The Renyi filter: one order, fixed in advance."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.filters.base import SMALLEST_PRICE, SMALLEST_SCALE, Filter
from hockeystick.filters.renyi.charge import LARGEST_ORDER, budget_at_order, prices
from hockeystick.filters.renyi.one_order import OneOrder
from hockeystick.filters.renyi.orders import best_order
from hockeystick.filters.renyi.profile_charge import profile_price
from hockeystick.filters.request import Sampled
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.profile import Profile

__all__ = ["Renyi", "checked_order"]

# Accuracy of the last clip scale, and what the logarithm of an infinite price counts as.
SCALE_ACCURACY, LARGE = 1e-13, 700.0


class Renyi(Filter):
    """(epsilon, delta)-DP for any adaptive run whose Renyi divergences add up to the budget.

    The charge of a step is its Renyi divergence at the filter's order, the larger of both
    directions; the budget is the largest divergence that implies (epsilon, delta). The order is
    fixed before the run: given, or the one that allows most steps of the expected kind. Say what to
    expect: the default is full batches, and the order that is best for those may allow few steps at
    a small rate.

    Feldman & Zrnic 2021: E_Q[LR^a] is at most e^((a-1) budget) however the steps are chosen.
    Proven; prices are exact at integer orders and bounds between them. A price costs O(order), a
    millisecond at fractional orders below 10, and is remembered; clipping the last step takes about
    ten of them.
    """

    kind = "proven"
    unit = "Renyi divergence"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        order: float | None = None,
        expected_rate: float = 1.0,
        expected_noise_multiplier: float = 1.0,
        ledger: str | Path | None = None,
        name: str = "default",
    ) -> None:
        epsilon = check.positive("epsilon", epsilon)
        delta = check.small_probability("delta", delta)
        self.order = checked_order(
            order,
            epsilon=epsilon,
            delta=delta,
            expected_rate=expected_rate,
            expected_noise_multiplier=expected_noise_multiplier,
        )
        self.epsilon, self.delta = epsilon, delta
        super().__init__(
            budget=budget_at_order(self.order, epsilon, delta),
            description={
                "epsilon": epsilon,
                "delta": delta,
                "order": self.order,
            },
            ledger=ledger,
            name=name,
        )

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP, and what the same divergence implies at other deltas."""
        bound = OneOrder(self.order, self.budget)
        return Guarantee((Analysis("renyi filter", self.kind, bound),))

    def _price_sampled(self, step: Sampled) -> float:
        return float(prices(self.order, step.rate, np.array([step.square]))[0])

    def _price_profile(self, profile: Profile) -> float:
        return profile_price(self.order, profile)

    def _largest_scale(self, step: Sampled, left: float) -> float:
        from scipy.optimize import brentq

        def excess(log_scale: float) -> float:
            price = self._price_sampled(step.shortened(math.exp(log_scale)))
            return min(math.log(max(price, SMALLEST_PRICE)), LARGE) - math.log(left)

        shortest = math.log(SMALLEST_SCALE)
        if excess(shortest) > 0:
            return 0.0
        if excess(0.0) <= 0:
            return 1.0
        root = float(brentq(excess, shortest, 0.0, xtol=SCALE_ACCURACY))
        # The root may lie a little on the wrong side.
        while excess(root) > 0:
            root -= 2 * SCALE_ACCURACY
        return math.exp(root)


def checked_order(
    order: float | None,
    *,
    epsilon: float,
    delta: float,
    expected_rate: float,
    expected_noise_multiplier: float,
) -> float:
    """The order that is given, or the best one for the expected run."""
    if order is None:
        return best_order(
            epsilon=epsilon,
            delta=delta,
            rate=check.sampling_rate("expected_rate", expected_rate),
            noise_multiplier=check.positive("expected_noise_multiplier", expected_noise_multiplier),
        )
    allowed = f"in (1, {LARGEST_ORDER}]"
    number = check.real("order", order, allowed)
    if not 1 < number <= LARGEST_ORDER:
        raise InvalidParameter("order", allowed, order)
    if not budget_at_order(number, epsilon, delta) > 0:
        allowed = f"one at which some divergence implies epsilon = {epsilon:g}, delta = {delta:g}"
        raise InvalidParameter("order", allowed, order)
    return number
