"""The Renyi filter over several orders: it ends with the order that lasts longest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from hockeystick import _validate as check
from hockeystick._text import strict_json
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.charging import ROUNDING, SMALLEST_SCALE
from hockeystick.filters.registry import parameters_of
from hockeystick.filters.renyi import largest_scale_for, usable_order
from hockeystick.filters.renyi.divergence import budget_at_order
from hockeystick.filters.renyi.ladder import (
    Ladder,
    OrdersBound,
    added_up,
    divergences_of,
    ladder_for_epsilon,
    of_step,
)
from hockeystick.filters.request import Expected, GaussianStep, StepRequest, checked_expected
from hockeystick.filters.stateful import StatefulFilter
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.ledger.heads import Where
from hockeystick.ledger.store import Entry

__all__ = ["OfOrders", "RenyiOrders", "Spent", "checked_ladder"]

# Every request has a charge, so that the ledger sees that something has happened.
SMALLEST_SHARE = 2.0**-40


@dataclass
class Spent:
    """At one order: the divergence of the steps so far; infinite once the order has ended."""

    divergence: float = 0.0


def _record_divergences(state: Sequence[Spent], entry: Entry) -> None:
    """Add what an entry says; an order that it has no number for has ended, cancelled or not."""
    found: Any = entry.request["divergences"]
    for one, divergence in zip(state, found, strict=True):
        if divergence is None:
            one.divergence = math.inf
        elif entry.status != "cancelled":
            one.divergence = added_up(one.divergence, float(divergence))


def checked_ladder(ladder: Any) -> Ladder:
    """Orders in (1, 1024] and shares of delta that add up to at most 1."""
    allowed = "a list of (order, share of delta), the shares > 0 and at most 1 in total"
    try:
        pairs = [(usable_order(order), check.positive("share", share)) for order, share in ladder]
    except (TypeError, ValueError):
        raise InvalidParameter("orders", allowed, ladder) from None
    total = math.fsum(share for _, share in pairs)
    if not pairs or not total <= 1 or len({order for order, _ in pairs}) < len(pairs):
        raise InvalidParameter("orders", f"{allowed}, no order twice", ladder)
    return Ladder(tuple(order for order, _ in pairs), tuple(share for _, share in pairs))


class OfOrders(StatefulFilter[list[Spent]]):
    """A filter that remembers what was spent at each order of a ladder."""

    _ladder: Ladder

    def _start(self) -> list[Spent]:
        return [Spent() for _ in self._ladder.orders]

    def _apply(self, state: list[Spent], entry: Entry) -> None:
        _record_divergences(state, entry)


class RenyiOrders(OfOrders):
    """(epsilon, delta)-DP for any adaptive run that one of several Renyi orders can pay for.

    Order k has the share delta_k of delta and a budget of its own, and is charged for every step
    until it cannot pay; the run ends with the last order. Valid because an event is split by the
    order that lasted longest, and the shares add up: the proof is in `renyi/ladder.py`, and on
    docs/mathematics.md.

    Beside `Renyi` with the best order it allows 1 to 2 % fewer steps where what is expected comes
    true, and does not end at once where it does not. Proven; a request costs some microseconds
    after the first of its kind.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole run.
    expected
        Expected requests (rate, noise_multiplier, steps). The order that is best for them has 94 %
        of delta, a ladder of others the rest. Without it delta is spread over the ladder.
    orders
        Skips the choice: a list of (order, share of delta).
    ledger
        A path or a database URL in which the spending is kept; in memory by default.
    name
        Which budget of the ledger this is.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.RenyiOrders(epsilon=2.0, delta=1e-5, expected=[(0.01, 1.0, 1)])
    >>> f.orders[0]
    (7.9, 0.94)
    >>> f.request(rate=0.01, noise_multiplier=1.0, steps=870).clip_scale
    1.0
    """

    kind = "proven"
    unit = "share of the longest order"
    parameters = ("epsilon", "delta", "orders")

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        expected: Expected | None = None,
        orders: Sequence[tuple[float, float]] | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        self.epsilon = check.positive("epsilon", epsilon)
        self.delta = check.small_probability("delta", delta)
        rows = None if expected is None else checked_expected(expected)
        self._ladder = (
            ladder_for_epsilon(rows, epsilon=self.epsilon, delta=self.delta)
            if orders is None
            else checked_ladder(orders)
        )
        self._budgets = [
            budget_at_order(order, self.epsilon, share * self.delta)
            for order, share in zip(*self._ladder, strict=True)
        ]
        if not self._budgets or not min(self._budgets) > 0:
            allowed = f"large enough for a Renyi order at its share of delta = {self.delta:g}"
            raise InvalidParameter("epsilon", allowed, epsilon)
        self.orders = tuple(zip(*self._ladder, strict=True))
        self._known: dict[object, tuple[float, ...]] = {}
        super().__init__(
            budget=1.0,
            description={
                "epsilon": self.epsilon,
                "delta": self.delta,
                "orders": {"orders": [list(pair) for pair in self.orders]},
            },
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
            follows={"orders": ("expected", expected)} if orders is None else {},
        )

    @classmethod
    def for_target(
        cls, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]
    ) -> RenyiOrders:
        """The filter itself."""
        return cls(epsilon=epsilon, delta=delta, expected=expected)

    def describe(self) -> dict[str, object]:
        """With the orders in one line of text."""
        text = ", ".join(f"[{order!r}, {share!r}]" for order, share in self.orders)
        return {**super().describe(), "orders": f'{{"orders": [{text}]}}'}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], **kept: Any) -> Self:
        """With the orders to their last digits."""
        values = parameters_of(description, name=cls.__name__, parameters=cls.parameters)
        try:
            pairs = strict_json(values["orders"])["orders"]
            orders = [(order, share) for order, share in pairs]
        except (KeyError, TypeError, ValueError) as error:
            allowed = "a description that `describe` made"
            raise InvalidParameter("filter", allowed, description) from error
        return cls(**{**values, "orders": orders}, **kept)

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP, and what the same divergences imply at other deltas."""
        bound = OrdersBound(self._ladder.orders, self._budgets)
        return Guarantee((Analysis("renyi orders filter", self.kind, bound),))

    # -- the state ---------------------------------------------------------------------------------

    def _decision(
        self, state: list[Spent], request: StepRequest, left: float
    ) -> tuple[float, Mapping[str, object]]:
        charges, scale = divergences_of(self._ladder, request, self._known), 1.0
        after = self._after(state, charges)
        if not any(after) and request.clip and request.step is not None:
            scale, charges = self._clipped(state, request.step, request.steps)
            after = self._after(state, charges)
        if not any(after):
            raise self._refusal(state, charges)
        before = max(1 - one.divergence / whole for one, whole in self._pairs(state))
        later = max(
            1 - found / whole for found, whole in zip(after, self._budgets, strict=True) if found
        )
        charge = max(before - later, SMALLEST_SHARE)
        paid = [cost if found else None for cost, found in zip(charges, after, strict=True)]
        return min(charge, left / 2), {**request.as_json(scale), "divergences": paid}

    def _pairs(self, state: Sequence[Spent]) -> list[tuple[Spent, float]]:
        return [
            (one, whole)
            for one, whole in zip(state, self._budgets, strict=True)
            if one.divergence < math.inf
        ]

    def _after(self, state: Sequence[Spent], charges: Sequence[float]) -> list[float | None]:
        """What each order has spent with the request; None where it cannot pay."""
        sums = [added_up(one.divergence, cost) for one, cost in zip(state, charges, strict=True)]
        return [
            found if found <= whole else None
            for found, whole in zip(sums, self._budgets, strict=True)
        ]

    def _clipped(
        self, state: Sequence[Spent], step: GaussianStep, steps: int
    ) -> tuple[float, tuple[float, ...]]:
        """The largest clip scale that an order can pay for, and the divergences at it."""
        best = 0.0
        for order, one, whole in zip(self._ladder.orders, state, self._budgets, strict=True):
            rest = (whole - one.divergence) / steps * (1 - 4 * ROUNDING)
            if rest > 0:
                found = largest_scale_for(partial(of_step, order), step, rest)
                best = max(best, found)
        if not best >= SMALLEST_SCALE:
            return 0.0, tuple(math.inf for _ in state)
        clipped = StepRequest(step.clipped(best), None, steps, clip=True)
        return best, divergences_of(self._ladder, clipped, {})

    def _refusal(self, state: Sequence[Spent], charges: Sequence[float]) -> BudgetExceeded:
        left = [
            f"{whole - one.divergence:.4g} at order {order:g}"
            for order, one, whole in zip(self._ladder.orders, state, self._budgets, strict=True)
            if one.divergence < math.inf
        ]
        return BudgetExceeded(
            f"No order can pay for the request any more; of the budget ({self._meaning}) is left: "
            f"{', '.join(left) or 'nothing'} ({len(charges)} orders, Renyi divergence).",
            page="docs/stopping.md#when-the-budget-is-used-up",
        )

    # -- what a filter with one number has to know -------------------------------------------------

    def _charge_of_step(self, step: GaussianStep) -> float:
        """The smallest share of an order's budget: requests are decided otherwise."""
        request = StepRequest(step, None, 1, clip=True)
        charges = divergences_of(self._ladder, request, self._known)
        return min(cost / whole for cost, whole in zip(charges, self._budgets, strict=True))

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return 1.0
