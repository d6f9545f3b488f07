"""The natural f-DP filter, for families in which it is valid: Blackwell chains by construction.

Two kinds of family are closed under products and totally ordered, so that one number, which adds
up under composition, orders their members.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar, Self

import numpy as np

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.fdp.chain import ChainTest, blackwell_chain
from hockeystick.filters.base import Filter
from hockeystick.filters.charging import ROUNDING
from hockeystick.filters.request import Expected, GaussianStep, checked_expected
from hockeystick.guarantee import Analysis, Guarantee, Kind
from hockeystick.ledger.heads import Where
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression

__all__ = ["NaturalFDP", "NotAChain", "ProfileBudget", "exact_name", "upper_profile"]

# Longer descriptions of budgets, those of pairs with many atoms, are replaced in the ledger by a
# digest: a line that a terminal shows.
LONGEST_NAME = 120


class NotAChain(UnsupportedPlan):
    """The declared family is not known to be a Blackwell chain; `test` holds the counterexample.

    Attributes
    ----------
    test : hockeystick.fdp.ChainTest
        What the chain test found.
    """

    def __init__(self, message: str, *, test: ChainTest) -> None:
        self.test = test
        super().__init__(message)


class ProfileBudget:
    """A filter whose budget is a profile: plain values do not describe it."""

    given_again: ClassVar[str]

    def describe(self) -> dict[str, object]:
        """Refused: the budget is a profile, which plain values do not describe."""
        raise InvalidParameter(
            "filter", "one that plain values describe; this one has a profile", self
        )

    @classmethod
    def from_description(cls, description: Mapping[str, Any], **kept: Any) -> Self:
        """Refused, like `describe`."""
        allowed = f"one that plain values describe; {cls.__name__} takes {cls.given_again} again"
        raise InvalidParameter("filter", allowed, description)


class NaturalFDP(ProfileBudget, Filter):
    """The budget's profile, for any adaptive run whose composed trade-off curve stays above it.

    In general that is false: choosing among curves that cross beats every one of them. It holds
    where all products of the declared family are ordered [Tran26, Theorem 3.6]. Two kinds of family
    are closed under products and ordered for any number of steps: Gaussians, whose charge is mu^2,
    and powers of one mechanism, whose charge is their exponent. The family is put to the chain test
    up to `steps` steps; one that fails it is refused with the counterexample, and one that passes
    without being of these kinds is refused as well, because its spending is not one number.

    Proven, in both directions. Only Gaussian steps can be clipped. O(1) per request.

    Parameters
    ----------
    family
        The profiles of the mechanisms that may be requested.
    budget
        A profile of the same kind: a Gaussian, or a power of the mechanism.
    steps
        Up to how many steps the chain test compares products.
    expected
        Expected requests (rate, noise_multiplier, steps). Checked, and not used: there is nothing
        to choose.
    ledger, name
        Where the spending is kept, and under which name.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Raises
    ------
    NotAChain
        If the family is not a Blackwell chain, or not known to be one.

    Examples
    --------
    >>> import hockeystick as hs
    >>> step = hs.Profile.gaussian(noise_multiplier=2.0).subsample(0.1)
    >>> f = hs.filters.NaturalFDP(family=[step], budget=step.self_compose(100))
    >>> f.request(rate=0.1, noise_multiplier=2.0, steps=30).charge
    30.0
    """

    kind: Kind = "proven"
    given_again = "its family and budget"

    def __init__(
        self,
        *,
        family: Sequence[Profile],
        budget: Profile,
        steps: int = 3,
        expected: Expected | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        checked_expected(expected)
        members = tuple(upper_profile("family", member) for member in family)
        if not members:
            raise InvalidParameter("family", "at least one profile", family)
        budget = upper_profile("budget", budget)
        test = blackwell_chain(members, steps=check.positive_integer("steps", steps))
        unit = _common_unit(members)
        if not test.holds or unit is None:
            raise NotAChain(_refusal(test), test=test)
        size = unit.size(budget)
        if size is None:
            raise InvalidParameter("budget", f"a profile counted in {unit.name}", budget)
        self.unit, self._unit, self._profile = unit.name, unit, budget
        self._largest = max(unit.size(member) or 0.0 for member in members)
        if unit.whole:
            self._product_rounding = 0.0
        super().__init__(
            budget=size if unit.whole else size * (1 - ROUNDING),
            description={"unit": unit.name, "budget": exact_name(budget)},
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
        )

    def guarantee(self) -> Guarantee:
        """The budget's own profile."""
        analysis = Analysis("natural f-DP filter", self.kind, ProfileBound(self._profile))
        return Guarantee((analysis,))

    def _charge_of_step(self, step: GaussianStep) -> float:
        noise = step.noise_multiplier / step.sensitivity
        return self._charge_of_profile(
            Profile.gaussian(noise_multiplier=noise).subsample(step.rate)
        )

    def _charge_of_profile(self, profile: Profile) -> float:
        size = self._unit.size(profile)
        if size is None or not size <= self._largest * (1 + ROUNDING):
            allowed = f"of the declared family: up to {self._largest:g} {self._unit.name}"
            raise InvalidParameter("profile", allowed, profile)
        return size if self._unit.whole else size * (1 + ROUNDING)

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        if self._unit.whole:
            return 0.0
        return math.sqrt(left) / step.mu * (1 - ROUNDING)


def upper_profile(name: str, profile: Any) -> Profile:
    """The profile, if what it says is a privacy statement."""
    if not isinstance(profile, Profile) or profile.bound != "upper":
        raise InvalidParameter(name, "made of profiles with bound='upper'", profile)
    return profile


def _refusal(test: ChainTest) -> str:
    if test.holds:
        return (
            f"The declared family is ordered up to {test.steps} steps, but its spending is not one "
            "number: declare Gaussians only, or powers of one mechanism. For two rounds of one "
            "rate, or of one noise, there is filters.TwoRounds."
        )
    shown = "No counterexample was found, but none is excluded"
    found = None if test.witness is None else test.witness.counterexample
    if found is not None:
        shown = (
            f"Counterexample: at gamma = {found.gamma:.6g} a run that starts with member "
            f"{found.first_step} and then chooses by its output reaches H >= {found.height:.6g}, "
            f"where the filter allows {found.budget:.6g}"
        )
    return (
        f"The natural f-DP filter is not valid for the declared family: {test.reason}. {shown}. "
        "filters.Renyi is valid for any family."
    )


@dataclass(frozen=True)
class _ChainUnit:
    """The number that orders a chain; the size of a product is the sum of the sizes.

    `size` is None for profiles outside the chain; `whole` sizes are integers.
    """

    name: str
    size: Callable[[Profile], float | None]
    whole: bool


def _common_unit(family: Sequence[Profile]) -> _ChainUnit | None:
    """The unit in which all members can be measured, if there is one."""
    candidates = [
        _ChainUnit("mu^2", _gaussian_size, whole=False),
        _powers_of(family[0].expression.factors()[0][0]),
    ]
    for unit in candidates:
        if all(unit.size(member) is not None for member in family):
            return unit
    return None


def _gaussian_size(profile: Profile) -> float | None:
    """mu^2: Gaussians are ordered by mu, and their squares add under composition."""
    expression = profile.expression
    return expression.order() ** 2 if expression.family == "gaussian" else None


def _powers_of(base: Expression) -> _ChainUnit:
    """f^n, ordered by n: composing with anything never makes a test harder."""

    def exponent(profile: Profile) -> float | None:
        factors = profile.expression.factors()
        return float(factors[0][1]) if len(factors) == 1 and factors[0][0] == base else None

    return _ChainUnit(f"runs of {exact_name(base)}", exponent, whole=True)


def exact_name(described: Expression | Profile) -> str:
    """A name that two pairs share only if they are equal, whatever NumPy is told to print."""
    with np.printoptions(
        threshold=sys.maxsize,
        linewidth=sys.maxsize,
        floatmode="unique",
        suppress=False,
        sign="-",
        formatter={},
    ):
        text = repr(described)
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text.partition('(')[0]} with SHA-256 {sha256(text.encode()).hexdigest()[:32]}"
