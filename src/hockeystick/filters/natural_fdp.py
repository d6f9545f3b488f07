"""The natural f-DP filter, for families in which it is valid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.fdp.chain import ChainTest, blackwell_chain
from hockeystick.filters.base import ROUNDING, Filter
from hockeystick.filters.chain_units import common_unit, exact_name
from hockeystick.filters.request import Sampled
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.profile import Profile

__all__ = ["NaturalFDP", "NotAChain"]


class NotAChain(UnsupportedPlan):
    """The declared family is not known to be a Blackwell chain; `test` holds the counterexample."""

    def __init__(self, message: str, *, test: ChainTest) -> None:
        self.test = test
        super().__init__(message)


class NaturalFDP(Filter):
    """The budget's profile, for any adaptive run whose composed trade-off curve stays above it.

    In general that is false: choosing among curves that cross beats every one of them. It holds
    where all products of the declared family are ordered (fdp_filters, Theorem 3.6). Two kinds of
    family are closed under products and ordered for any number of steps: Gaussians, whose charge is
    mu^2, and powers of one mechanism, whose charge is their exponent. `budget` is a profile of the
    same kind. The family is put to the chain test up to `steps` steps; one that fails it is refused
    with the counterexample, and one that passes without being of these kinds is refused as well,
    because its spending is not one number.

    Proven, in both directions. Only Gaussian steps can be clipped. O(1) per request.
    """

    kind = "proven"

    def __init__(
        self,
        *,
        family: Sequence[Profile],
        budget: Profile,
        steps: int = 3,
        ledger: str | Path | None = None,
        name: str = "default",
    ) -> None:
        members = tuple(_upper("family", member) for member in family)
        if not members:
            raise InvalidParameter("family", "at least one profile", family)
        budget = _upper("budget", budget)
        test = blackwell_chain(members, steps=check.positive_integer("steps", steps))
        unit = common_unit(members)
        if not test.holds or unit is None:
            raise NotAChain(_refusal(test), test=test)
        size = unit.size(budget)
        if size is None:
            raise InvalidParameter("budget", f"a profile counted in {unit.name}", budget)
        self.unit, self._unit, self._profile = unit.name, unit, budget
        self._largest = max(unit.size(member) or 0.0 for member in members)
        if unit.whole:
            self.product_rounding = 0.0
        super().__init__(
            budget=size if unit.whole else size * (1 - ROUNDING),
            description={"unit": unit.name, "budget": exact_name(budget)},
            ledger=ledger,
            name=name,
        )

    def guarantee(self) -> Guarantee:
        """The budget's own profile."""
        analysis = Analysis("natural f-DP filter", self.kind, ProfileBound(self._profile))
        return Guarantee((analysis,))

    def _price_sampled(self, step: Sampled) -> float:
        noise = step.noise_multiplier / step.sensitivity
        return self._price_profile(Profile.gaussian(noise_multiplier=noise).subsample(step.rate))

    def _price_profile(self, profile: Profile) -> float:
        size = self._unit.size(profile)
        if size is None or not size <= self._largest * (1 + ROUNDING):
            allowed = f"of the declared family: up to {self._largest:g} {self._unit.name}"
            raise InvalidParameter("profile", allowed, profile)
        return size if self._unit.whole else size * (1 + ROUNDING)

    def _largest_scale(self, step: Sampled, left: float) -> float:
        if self._unit.whole:
            return 0.0
        return math.sqrt(left) / step.mu * (1 - ROUNDING)


def _upper(name: str, profile: Any) -> Profile:
    """The profile, if what it says is a privacy statement."""
    if not isinstance(profile, Profile) or profile.bound != "upper":
        raise InvalidParameter(name, "made of profiles with bound='upper'", profile)
    return profile


def _refusal(test: ChainTest) -> str:
    if test.holds:
        return (
            f"The declared family is ordered up to {test.steps} steps, but its spending is not one "
            "number: declare Gaussians only, or powers of one mechanism."
        )
    shown = "No counterexample was found, but none is excluded"
    found = None if test.witness is None else test.witness.counterexample
    if found is not None:
        shown = (
            f"Counterexample: at gamma = {found.gamma:.6g} a run that starts with member "
            f"{found.first_step} and then chooses by its output reaches H >= {found.height:.6g}, "
            f"where the filter promises {found.budget:.6g}"
        )
    return (
        f"The natural f-DP filter is not valid for the declared family: {test.reason}. {shown}. "
        "filters.Renyi is valid for any family."
    )
