"""What all filters share: asking, charging, clipping the last step, looking back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from hockeystick._process import Uncopied
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters.audit import Audit, audit_of
from hockeystick.filters.permit import Permit
from hockeystick.filters.request import Asked, Sampled, as_number, checked_request
from hockeystick.guarantee import Guarantee, Kind
from hockeystick.ledger.store import Entry, MemoryStore, Store
from hockeystick.profile import Profile

__all__ = ["Filter"]

# A step that would have to be clipped below this share of its norm is not worth running.
SMALLEST_SCALE = 1e-6
# Products and quotients of a few numbers are off by less than this.
ROUNDING = 2.0**-48
SMALLEST_PRICE = math.ulp(0.0)


class Filter(Uncopied, ABC):
    """A budget for a run whose parameters are chosen while it runs.

    Before each step a permit is asked for. Its charge is reserved at once, charges are rounded up,
    and their sum never exceeds the budget. A Gaussian step that does not fit any more is clipped so
    that it spends exactly what is left; after that `BudgetExceeded` is raised.

    Without `ledger` the state is lost with the process; a path (SQLite) or a database URL makes it
    durable, and `name` tells several budgets in one ledger apart.
    """

    what: ClassVar[str] = "A filter"
    instead: ClassVar[str] = "give several filters the same ledger"
    kind: Kind
    # What the budget and the charges are numbers of.
    unit: str
    # What a product of steps and price is rounded up by.
    product_rounding = ROUNDING

    def __init__(
        self,
        *,
        budget: float,
        description: Mapping[str, object],
        ledger: str | Path | None,
        name: str,
    ) -> None:
        described = {"filter": type(self).__name__, "kind": self.kind, **description}
        self._store = _open(ledger, name=name, budget=budget, description=described)
        self._budget = budget
        self._prices: dict[Hashable, float] = {}
        # Profiles have no text from which they could be built again.
        self._profiles: dict[int, Profile] = {}

    # -- the interface ----------------------------------------------------------------------------

    def request(
        self,
        *,
        rate: float = 1.0,
        noise_multiplier: float | None = None,
        sensitivity: float = 1.0,
        steps: int = 1,
        profile: Profile | None = None,
        clip: bool = True,
    ) -> Permit:
        """Permission for `steps` equal steps; reserved, and counted, from now on.

        If they do not fit, the contributions of all of them are clipped further, to `clip_scale` of
        the clip norm; with clip=False, or for a profile, `BudgetExceeded` is raised instead and
        nothing is recorded.
        """
        asked = checked_request(
            rate=rate,
            noise_multiplier=noise_multiplier,
            sensitivity=sensitivity,
            steps=steps,
            profile=profile,
            clip=clip,
        )
        price = self._price(asked)
        entry = self._store.reserve(lambda spent: self._decide(asked, price, spent))
        if asked.profile is not None:
            self._profiles[entry.number] = asked.profile
        sampled = asked.sampled
        return Permit(
            number=entry.number,
            charge=entry.charge,
            clip_scale=as_number(entry.request["clip_scale"]),
            steps=asked.steps,
            rate=None if sampled is None else sampled.rate,
            noise_multiplier=None if sampled is None else sampled.noise_multiplier,
            sensitivity=None if sampled is None else sampled.sensitivity,
            store=self._store,
        )

    @property
    def budget(self) -> float:
        """What may be spent in total, in the filter's unit."""
        return self._budget

    @property
    def spent(self) -> float:
        """What is reserved or committed; never above the budget."""
        return self._store.spent()

    @property
    def remaining(self) -> float:
        """What is left."""
        return max(self._budget - self._store.spent(), 0.0)

    @property
    def history(self) -> Sequence[Entry]:
        """All reservations in their order, the cancelled ones included."""
        return self._store.history()

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What holds for the whole budget, however the steps are chosen.

        It is not about what is spent so far: stopping early, for a reason seen in the outputs, does
        not make the run more private than its budget.
        """

    def audit(self, *, direction: str = "both") -> Audit:
        """The steps that were permitted, priced as if they had been fixed in advance.

        A diagnostic, not a guarantee: the steps were chosen while the run went on.
        """
        return audit_of(
            self.history,
            claim=self.guarantee(),
            profiles=self._profiles,
            direction=direction,
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(kind={self.kind!r}, spent={self.spent:.6g}, "
            f"budget={self._budget:.6g}, unit={self.unit!r})"
        )

    # -- what a filter has to know ----------------------------------------------------------------

    @abstractmethod
    def _price_sampled(self, step: Sampled) -> float:
        """The charge of one step, rounded up."""

    @abstractmethod
    def _largest_scale(self, step: Sampled, left: float) -> float:
        """The largest clip scale, up to rounding, at which one step costs at most `left`."""

    def _price_profile(self, profile: Profile) -> float:
        """The charge of one run of the mechanism with this profile, rounded up."""
        allowed = f"left out: {type(self).__name__} prices sampled Gaussians only"
        raise InvalidParameter("profile", allowed, profile)

    # -- inside -----------------------------------------------------------------------------------

    def _price(self, asked: Asked) -> float:
        """Of all steps of the request; prices of single steps are remembered."""
        key = asked.sampled if asked.profile is None else asked.profile.expression
        if key not in self._prices:
            # Nothing is free: what underflows is charged the smallest amount.
            self._prices[key] = max(self._price_once(asked), SMALLEST_PRICE)
        price = self._prices[key]
        return price if asked.steps == 1 else asked.steps * price * (1 + self.product_rounding)

    def _price_once(self, asked: Asked) -> float:
        if asked.sampled is not None:
            return self._price_sampled(asked.sampled)
        assert asked.profile is not None
        return self._price_profile(asked.profile)

    def _decide(
        self, asked: Asked, price: float, spent: float
    ) -> tuple[float, Mapping[str, object]]:
        """The charge and the clip scale, given what is spent."""
        left = self._budget - spent
        if price <= left:
            return price, asked.as_json(1.0)
        if left > 0 and asked.clip and asked.sampled is not None:
            share = left / asked.steps * (1 - ROUNDING)
            scale = min(self._largest_scale(asked.sampled, share), 1.0)
            if scale >= SMALLEST_SCALE:
                return left, asked.as_json(scale)
        raise BudgetExceeded(
            f"The request costs {price:.6g}, but only {left:.6g} of the budget "
            f"{self._budget:.6g} is left ({self.unit})."
        )


def _open(
    ledger: str | Path | None, *, name: str, budget: float, description: Mapping[str, object]
) -> Store:
    if not (budget > 0 and math.isfinite(budget)):
        raise InvalidParameter("budget", "a finite number > 0", budget)
    if ledger is None:
        return MemoryStore(budget)
    from hockeystick.ledger import open_store

    return open_store(ledger, name=name, budget=budget, description=description)
