"""What one request costs, and how far a step that no longer fits is clipped.

A request may be a whole plan: an amplified run as one step of an adaptive one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any

from hockeystick._process import SetOnce
from hockeystick.errors import BudgetExceeded, InvalidParameter, UnsupportedPlan
from hockeystick.filters.request import GaussianStep, StepRequest, checked_expected
from hockeystick.guarantee import ADJACENCY
from hockeystick.profile import Profile

__all__ = [
    "ROUNDING",
    "SMALLEST_CHARGE",
    "SMALLEST_SCALE",
    "Charging",
    "profile_of_plan",
]

# A step clipped below this share of its norm is a millionth of the signal in the same noise.
SMALLEST_SCALE = 1e-6
# Products and quotients of up to 16 numbers: 16 roundings of 2^-53 each are 2^-49.
ROUNDING = 2.0**-48
# Nothing is free: a charge that underflows is the smallest number there is.
SMALLEST_CHARGE = math.ulp(0.0)


class Charging(SetOnce, ABC):
    """The charges of a filter: what a subclass has to know, and what follows from it."""

    # What the budget and the charges are numbers of.
    unit: str
    # By how much a product of steps and charge is rounded up.
    _product_rounding = ROUNDING
    # Whether a refusal compares the request with the expected steps.
    _refusal_names_expected = True

    def __init__(
        self, *, budget: float, meaning: str, follows: Mapping[str, tuple[str, Any]]
    ) -> None:
        self._budget, self._meaning = budget, meaning
        expected = [value for source, value in follows.values() if source == "expected"]
        named = bool(expected) and self._refusal_names_expected
        self._built_for = checked_expected(expected[0]) if named else None
        self._told = named and expected[0] is not None
        self._charges: dict[Hashable, float] = {}

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
            f"The request costs {charge:.6g}, but only {left:.6g} of the budget {self._budget:.6g}"
            f"{f' ({self._meaning})' if self._meaning else ''} is left ({self.unit}); more noise, "
            f"a smaller rate or fewer steps cost less.{self._unexpected(request)}",
            page="docs/stopping.md#when-the-budget-is-used-up",
        )

    def _unexpected(self, request: StepRequest) -> str:
        """A sentence for requests that are not near anything for which the filter was built."""
        step = request.step
        if step is None:
            return ""
        return self._other_steps(step.rate, step.noise_multiplier / step.sensitivity)

    def unexpected(self, *, rate: float, noise_multiplier: float) -> str:
        """What to say about steps that are not near anything that the filter was told to expect.

        Their charges are valid, and larger than those of a filter that was built for them.

        Parameters
        ----------
        rate
            The probability that an example takes part.
        noise_multiplier
            Standard deviation of the noise over the clip norm.

        Returns
        -------
        str
            Empty if such steps were expected, within a factor of two, or nothing was said.
        """
        return self._other_steps(rate, noise_multiplier).strip() if self._told else ""

    def _other_steps(self, rate: float, noise_multiplier: float) -> str:
        built_for = self._built_for
        if built_for is None or any(
            _near(e.rate, rate) and _near(e.noise_multiplier, noise_multiplier) for e in built_for
        ):
            return ""
        first = built_for[0]
        return (
            f" The filter was built for other steps (rate {first.rate:g}, noise multiplier "
            f"{first.noise_multiplier:g}{', ...' if len(built_for) > 1 else ''}): for steps like "
            f"this one expected=[({rate:g}, {noise_multiplier:g}, steps)] may permit more with "
            "the same guarantee."
        )


def _near(one: float, other: float) -> bool:
    """Within a factor of two, between which little is lost."""
    return other / 2 <= one <= 2 * other


def profile_of_plan(plan: Any, noise_multiplier: Any) -> Profile:
    """The profile of a run of the plan, a pair that dominates it in both directions.

    What is fixed within the plan, correlated noise and any sampling scheme included, is accounted
    for by `account`; only what comes after may depend on its outputs.
    """
    if noise_multiplier is None:
        raise InvalidParameter("noise_multiplier", "given with a plan", noise_multiplier)
    # Accounting stands above filters: it is looked up when somebody asks for a plan.
    account = import_module("hockeystick.accounting").account
    found = account(plan, noise_multiplier=noise_multiplier)
    if (found.kind, found.unit, found.adjacency) != ("proven", "example", ADJACENCY):
        raise UnsupportedPlan(
            f"A filter needs a proven guarantee for one example, {ADJACENCY}; this plan has a "
            f"{found.kind} one for one {found.unit}, {found.adjacency}.",
            page="docs/adaptive.md#whole-plans",
        )
    profile: Profile = found.profile
    return profile
