"""The Renyi filter: one order, fixed in advance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.base import Filter
from hockeystick.filters.charging import SMALLEST_CHARGE, SMALLEST_SCALE
from hockeystick.filters.renyi.divergence import (
    LARGEST_ORDER,
    OneOrder,
    budget_at_order,
    divergence_of_profile,
    divergence_of_schedule,
    order_of_smallest,
    sampled_divergences,
)
from hockeystick.filters.request import Expected, GaussianStep, StepRequest, checked_expected, kept
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.ledger.heads import Where
from hockeystick.profile import Profile

__all__ = ["Renyi", "best_order", "checked_order", "largest_scale_for", "usable_order"]

# Accuracy of the logarithm of the last clip scale: the charge is then off by about as much.
SCALE_ACCURACY = 1e-13
# What the logarithm of an infinite charge counts as in the search for the clip scale.
LARGE = 700.0


class Renyi(Filter):
    """(epsilon, delta)-DP for any adaptive run whose Renyi divergences add up to the budget.

    The charge of a step is its Renyi divergence at the filter's order, the larger of both
    directions; the budget is the largest divergence that implies (epsilon, delta). Valid because
    E_Q[LR^a] is at most e^((a-1) budget) however the steps are chosen [FeldmanZrnic21].

    Proven; charges are exact at integer orders and bounds between them. A charge costs O(order), a
    millisecond at fractional orders below 10, and is remembered; clipping the last step takes about
    ten of them.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole run.
    order
        The Renyi order, in (1, 1024], fixed before the run; by default the one that allows most of
        what is expected.
    expected
        Expected requests (rate, noise_multiplier, steps), in any order and as often as they are
        expected. The default is full batches, and the order that is best for those may allow few
        steps at a small rate: say what to expect. Anything else may be requested as well.
    ledger
        A path or a database URL in which the spending is kept; in memory by default.
    name
        Which budget of the ledger this is.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Renyi(epsilon=2.0, delta=1e-5, expected=[(0.01, 1.0, 1)])
    >>> f.order
    7.9
    >>> int(f.budget / f.request(rate=0.01, noise_multiplier=1.0).charge)  # steps without clipping
    881
    """

    kind = "proven"
    unit = "Renyi divergence"
    parameters = ("epsilon", "delta", "order")

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        order: float | None = None,
        expected: Expected | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        epsilon = check.positive("epsilon", epsilon)
        delta = check.small_probability("delta", delta)
        expected = kept(expected)
        self.order = checked_order(
            order, epsilon=epsilon, delta=delta, expected=checked_expected(expected)
        )
        self.epsilon, self.delta = epsilon, delta
        self._expected = not (order is None and expected is None)
        super().__init__(
            budget=budget_at_order(self.order, epsilon, delta),
            description={"epsilon": epsilon, "delta": delta, "order": self.order},
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
            follows={"order": ("expected", expected)} if order is None else {},
        )

    @classmethod
    def for_target(cls, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]) -> Renyi:
        """The filter itself."""
        return cls(epsilon=epsilon, delta=delta, expected=expected)

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP, and what the same divergence implies at other deltas."""
        bound = OneOrder(self.order, self.budget)
        return Guarantee((Analysis("renyi filter", self.kind, bound),))

    def _charge_of_step(self, step: GaussianStep) -> float:
        return float(sampled_divergences(self.order, step.rate, np.array([step.square]))[0])

    def _charge_of_profile(self, profile: Profile) -> float:
        return divergence_of_profile(self.order, profile)

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return largest_scale_for(self._charge_of_step, step, left)

    def _decide(
        self, request: StepRequest, charge: float, spent: float
    ) -> tuple[float, Mapping[str, object]]:
        """As every filter; where nothing was expected, the refusal says what would have lasted."""
        try:
            return super()._decide(request, charge, spent)
        except BudgetExceeded as refusal:
            if self._expected or request.step is None:
                raise
            raise BudgetExceeded(
                f"{str(refusal).partition(' See ')[0]} {self._would_last(request.step)}",
                page="docs/adaptive.md#which-filter",
            ) from None

    def _would_last(self, step: GaussianStep) -> str:
        """What steps like this one took at an order for full batches, and at their own order."""
        one = EqualSteps(step.rate, step.noise_multiplier / step.sensitivity, 1)
        order = best_order(epsilon=self.epsilon, delta=self.delta, expected=(one,))
        here = self._charge_of_step(step) / self.budget
        charge = divergence_of_schedule(order, (one,))
        steps = math.floor(budget_at_order(order, self.epsilon, self.delta) / charge)
        return (
            f"Nothing was expected, so the order {self.order:g} was chosen for full batches, at "
            f"which such a step takes {here:.2%} of the budget; with "
            f"expected=[({one.rate:g}, {one.noise_multiplier:g}, 1)] the order is {order:g} and "
            f"{steps:,} such steps fit."
        )


def largest_scale_for(
    charge_of: Callable[[GaussianStep], float], step: GaussianStep, left: float
) -> float:
    """The largest clip scale, up to rounding, at which one step costs at most `left`."""
    from scipy.optimize import brentq

    def excess(log_scale: float) -> float:
        charge = charge_of(step.clipped(math.exp(log_scale)))
        return min(math.log(max(charge, SMALLEST_CHARGE)), LARGE) - math.log(left)

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
    order: float | None, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]
) -> float:
    """The order that is given, or the best one for what is expected."""
    if order is None:
        return best_order(epsilon=epsilon, delta=delta, expected=expected)
    number = usable_order(order)
    if not budget_at_order(number, epsilon, delta) > 0:
        allowed = f"one at which some divergence implies epsilon = {epsilon:g}, delta = {delta:g}"
        raise InvalidParameter("order", allowed, order)
    return number


def usable_order(order: float) -> float:
    """The order, if it is in (1, 1024]."""
    allowed = f"in (1, {LARGEST_ORDER}]"
    number = check.real("order", order, allowed)
    if not 1 < number <= LARGEST_ORDER:
        raise InvalidParameter("order", allowed, order)
    return number


def best_order(*, epsilon: float, delta: float, expected: Sequence[EqualSteps]) -> float:
    """The order at which the expected steps cost the smallest share of the budget.

    At rate 1 the choice does not depend on the noise.
    """

    def share_of_budget(order: float) -> float:
        budget = budget_at_order(order, epsilon, delta)
        return divergence_of_schedule(order, expected) / budget if budget > 0 else math.inf

    best = order_of_smallest(share_of_budget)
    if not budget_at_order(best, epsilon, delta) > 0:
        # Every charge is infinite, or no order will do; the largest order comes closest.
        best = float(LARGEST_ORDER)
    if not budget_at_order(best, epsilon, delta) > 0:
        allowed = f"large enough for a Renyi order up to {LARGEST_ORDER} at delta = {delta:g}"
        raise InvalidParameter("epsilon", allowed, epsilon)
    return best
