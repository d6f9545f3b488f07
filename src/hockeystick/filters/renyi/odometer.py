"""The odometer: an epsilon for what was spent so far, valid at all times at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hockeystick import _validate as check
from hockeystick.filters.renyi.divergence import epsilon_at_order
from hockeystick.filters.renyi.ladder import (
    OdometerBound,
    added_up,
    divergences_of,
    ladder_for_odometer,
)
from hockeystick.filters.renyi.several import OfOrders, Spent
from hockeystick.filters.request import Expected, GaussianStep, StepRequest, checked_expected
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.ledger.heads import Where

__all__ = ["Odometer"]

# Nothing is refused: the ledger counts requests, up to this many.
MOST_REQUESTS = 2.0**50


class Odometer(OfOrders):
    """An epsilon for the steps so far, at any time, however they are chosen and whenever one stops.

    For every rule that chooses the steps and a moment T to stop, and for every event E of the
    outputs up to T,

        P(E) <= E_Q[1_E e^(epsilon at T)] + delta,  and with P and Q exchanged.

    So `epsilon` may be read after every step, and may decide what is done next. It is the smallest
    over several Renyi orders, each with its share of delta; the proof is in `renyi/ladder.py`. It
    never refuses a request, and never clips.

    Beside a Renyi filter of the same epsilon it costs what the shares of delta cost: 1 % of epsilon
    for the expected order, and 10 % after 1,000 steps of rate 0.01 and noise 1 without expectation.

    Parameters
    ----------
    delta
        The same at all times.
    expected
        Expected requests (rate, noise_multiplier, steps): the order that is best after them has
        94 % of delta. Without it delta is spread over orders from 2 to 160.
    ledger
        A path or a database URL in which the spending is kept; in memory by default.
    name
        Which budget of the ledger this is.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> odometer = hs.filters.Odometer(delta=1e-5)
    >>> odometer.epsilon
    0.0
    >>> odometer.request(rate=0.01, noise_multiplier=1.0, steps=1000).commit()
    >>> round(odometer.epsilon, 3)
    2.306
    """

    kind = "proven"
    unit = "requests"

    def __init__(
        self,
        *,
        delta: float,
        expected: Expected | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        self.delta = check.small_probability("delta", delta)
        rows = None if expected is None else checked_expected(expected)
        self._ladder = ladder_for_odometer(rows, delta=self.delta)
        self.orders = tuple(zip(*self._ladder, strict=True))
        self._known: dict[object, tuple[float, ...]] = {}
        super().__init__(
            budget=MOST_REQUESTS,
            description={"delta": self.delta, "orders": [list(pair) for pair in self.orders]},
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
            follows={"orders": ("expected", expected)},
        )

    @property
    def epsilon(self) -> float:
        """For the steps so far, reserved ones included, at `delta`."""
        with self._lock:
            self._refresh()
            spent = [one.divergence for one in self._state]
        if not any(spent):
            return 0.0
        return min(
            epsilon_at_order(order, divergence, share * self.delta)
            for (order, share), divergence in zip(self.orders, spent, strict=True)
        )

    def guarantee(self) -> Guarantee:
        """For a run that stops now. Unlike that of a filter it grows with every request."""
        with self._lock:
            self._refresh()
            spent = [one.divergence for one in self._state]
        known = [(*pair, d) for pair, d in zip(self.orders, spent, strict=True) if d < math.inf]
        bound = OdometerBound(
            [order for order, _, _ in known],
            [divergence for _, _, divergence in known],
            [share for _, share, _ in known],
        )
        return Guarantee((Analysis("renyi odometer", self.kind, bound),))

    def __repr__(self) -> str:
        return f"Odometer(kind={self.kind!r}, delta={self.delta:g}, epsilon={self.epsilon:.6g})"

    # -- the state ---------------------------------------------------------------------------------

    def _decision(
        self, state: list[Spent], request: StepRequest, left: float
    ) -> tuple[float, Mapping[str, object]]:
        charges = divergences_of(self._ladder, request, self._known)
        sums = [added_up(one.divergence, cost) for one, cost in zip(state, charges, strict=True)]
        kept = [
            cost if found < math.inf else None for cost, found in zip(charges, sums, strict=True)
        ]
        return 1.0, {**request.as_json(1.0), "divergences": kept}

    # -- what a filter with one number has to know -------------------------------------------------

    def _charge_of_step(self, step: GaussianStep) -> float:
        return 1.0

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return 1.0
