"""What all filters share: requests, charges, clipping the last step, and the audit afterwards."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from hockeystick._process import SetOnce
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.audit import Audit, audit_of
from hockeystick.filters.registry import parameters_of, require_keywords, require_registered
from hockeystick.filters.request import (
    GaussianStep,
    Permit,
    StepRequest,
    as_number,
    checked_request,
)
from hockeystick.guarantee import Guarantee, Kind
from hockeystick.ledger.store import Entry, MemoryStore, Store
from hockeystick.profile import Profile

__all__ = ["ROUNDING", "SMALLEST_CHARGE", "SMALLEST_SCALE", "Filter"]

# A step clipped below this share of its norm is a millionth of the signal in the same noise.
SMALLEST_SCALE = 1e-6
# Products and quotients of up to 16 numbers: 16 roundings of 2^-53 each are 2^-49.
ROUNDING = 2.0**-48
# Nothing is free: a charge that underflows is the smallest number there is.
SMALLEST_CHARGE = math.ulp(0.0)


class Filter(SetOnce, ABC):
    """A budget for a run whose parameters are chosen while it runs.

    Before each step a permit is requested. Its charge is reserved at once, charges are rounded up,
    and their sum never exceeds the budget. A Gaussian step that does not fit any more is clipped so
    that it spends exactly what is left; after that `BudgetExceeded` is raised. Public attributes
    are set once, because the guarantee depends on them: a second assignment raises `PlanMismatch`.

    A filter of your own is a subclass with `kind`, `unit`, `parameters`, `guarantee`,
    `_charge_of_step` and `_largest_scale`, and a call of `filters.register`.

    Parameters
    ----------
    budget
        What may be spent in total, in the filter's unit.
    description
        Plain values that a ledger keeps; opening it again needs the same ones.
    ledger
        A path (SQLite) or a database URL makes the spending durable; without it it is lost with the
        process.
    name
        Tells several budgets in one ledger apart.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0)
    >>> f.request(noise_multiplier=2.0, steps=3).commit()
    >>> round(f.spent, 9), round(f.remaining, 9)
    (0.75, 0.25)
    >>> round(f.request(noise_multiplier=1.0).clip_scale, 9)  # half the norm, a quarter of 1
    0.5
    """

    what: ClassVar[str] = "A filter"
    instead: ClassVar[str] = "give several filters the same ledger"
    kind: Kind
    # What the budget and the charges are numbers of.
    unit: str
    # The attributes from which the filter can be built again: keywords of its constructor.
    parameters: ClassVar[tuple[str, ...]] = ()
    # By how much a product of steps and charge is rounded up.
    _product_rounding = ROUNDING

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
        self._charges: dict[Hashable, float] = {}
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

        Parameters
        ----------
        rate
            Probability with which each example takes part, independently.
        noise_multiplier
            Standard deviation of the noise over the clip norm.
        sensitivity
            Largest contribution of an example, in units of the clip norm.
        steps
            How many equal steps.
        profile
            Another mechanism, in the place of rate, noise multiplier and sensitivity.
        clip
            Whether steps that do not fit may be clipped further, all of them to `clip_scale` of the
            clip norm; a profile never is.

        Returns
        -------
        Permit
            With its charge and its clip scale.

        Raises
        ------
        BudgetExceeded
            If the steps do not fit, even clipped; nothing is recorded then.
        """
        request = checked_request(
            rate=rate,
            noise_multiplier=noise_multiplier,
            sensitivity=sensitivity,
            steps=steps,
            profile=profile,
            clip=clip,
        )
        charge = self._checked(self._charge(request))
        entry = self._store.reserve(lambda spent: self._decide(request, charge, spent))
        if request.profile is not None:
            self._profiles[entry.number] = request.profile
        return Permit.of(
            request,
            store=self._store,
            number=entry.number,
            charge=entry.charge,
            clip_scale=as_number(entry.request["clip_scale"]),
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
        """The permitted steps, accounted for as if they had been fixed in advance.

        A diagnostic, not a guarantee: the steps were chosen while the run went on. `direction` is
        "add", "remove" or "both".
        """
        return audit_of(
            self.history,
            claim=self.guarantee(),
            profiles=self._profiles,
            direction=direction,
        )

    def describe(self) -> dict[str, object]:
        """The filter's name and the plain values from which `filters.from_description` builds it.

        What a statement says about it: its guarantee, and nothing about spending. A filter that is
        not registered is refused.
        """
        name = require_registered(type(self))
        require_keywords(type(self), self.parameters)
        return {"filter": name, **{one: getattr(self, one) for one in self.parameters}}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """The filter that `describe` described, in memory and with nothing spent."""
        values = parameters_of(description, name=cls.__name__, parameters=cls.parameters)
        require_keywords(cls, cls.parameters)
        return cls(**values)

    @classmethod
    def for_target(
        cls,
        *,
        epsilon: float,
        delta: float,
        expected: Sequence[EqualSteps],
    ) -> Filter | None:
        """The filter that guarantees (epsilon, delta), built for what is expected.

        For comparisons (`hockeystick filters`); None, the default, leaves the filter out of them.
        """
        return None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(kind={self.kind!r}, spent={self.spent:.6g}, "
            f"budget={self._budget:.6g}, unit={self.unit!r})"
        )

    # -- what a filter has to know ----------------------------------------------------------------

    @abstractmethod
    def _charge_of_step(self, step: GaussianStep) -> float:
        """The charge of one step, rounded up."""

    @abstractmethod
    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        """The largest clip scale, up to rounding, at which one step costs at most `left`."""

    def _charge_of_profile(self, profile: Profile) -> float:
        """The charge of one run of the mechanism with this profile, rounded up."""
        allowed = f"left out: {type(self).__name__} charges sampled Gaussians only"
        raise InvalidParameter("profile", allowed, profile)

    # -- inside -----------------------------------------------------------------------------------

    def _charge(self, request: StepRequest) -> float:
        """Of all steps of the request; charges of single steps are remembered."""
        key = request.step if request.profile is None else request.profile.expression
        if key not in self._charges:
            self._charges[key] = max(self._checked(self._charge_once(request)), SMALLEST_CHARGE)
        charge = self._charges[key]
        if request.steps == 1:
            return charge
        return request.steps * charge * (1 + self._product_rounding)

    def _checked(self, charge: float) -> float:
        """The charge; one that is negative or NaN would be cheap."""
        if not charge >= 0:
            raise InvalidParameter(f"what {type(self).__name__} charges", "a number >= 0", charge)
        return charge

    def _charge_once(self, request: StepRequest) -> float:
        if request.step is not None:
            return self._charge_of_step(request.step)
        assert request.profile is not None
        return self._charge_of_profile(request.profile)

    def _decide(
        self, request: StepRequest, charge: float, spent: float
    ) -> tuple[float, Mapping[str, object]]:
        """The charge and the clip scale, given what is spent."""
        left = self._budget - spent
        if charge <= left:
            return charge, request.as_json(1.0)
        if left > 0 and request.clip and request.step is not None:
            share = left / request.steps * (1 - ROUNDING)
            scale = min(self._largest_scale(request.step, share), 1.0)
            if scale >= SMALLEST_SCALE:
                return left, request.as_json(scale)
        raise BudgetExceeded(
            f"The request costs {charge:.6g}, but only {left:.6g} of the budget "
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
