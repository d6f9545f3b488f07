"""How the contribution of one example is charged, for a million examples at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick.bounds import Bound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter
from hockeystick.filters.gaussian import RegimeName, chosen_regime, require_admitted
from hockeystick.filters.renyi import usable_order
from hockeystick.filters.renyi.divergence import OneOrder, sampled_divergences
from hockeystick.guarantee import Kind
from hockeystick.profile import Profile

__all__ = ["RULES", "ApproximateRule", "GaussianRule", "RenyiRule", "Rule", "step_charges"]

# Up to 64 roundings of 2^-53 are 2^-47: powers, exponentials and products.
ROUNDING = 2.0**-46
# Nodes of a table of divergences: with 1024 chords charges are too large by at most 3e-5 of the
# budget (order 8, rate 0.01). Fewer at fractional orders, where each takes a millisecond, a table
# a quarter of a second.
NODES, NODES_OF_FRACTIONS = 1025, 257
# Rates of examples that differ are rounded up to so many significant digits.
RATE_DIGITS = 2
# Tables that are remembered, one for each rate and noise multiplier: four megabytes.
MOST_TABLES = 256


class Rule(Protocol):
    """What an example may spend, and what a contribution costs it, for arrays of mu^2.

    mu is the norm of the clipped contribution over the standard deviation of the noise.
    """

    # How descriptions and saved states name the rule, and the attributes that they hold.
    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]

    @property
    def kind(self) -> Kind:
        """How far the claim is established."""

    @property
    def budget(self) -> float:
        """What each example may spend."""

    @property
    def bound(self) -> Bound:
        """What holds for the run if no example spends more."""

    def bound_for(self, share: float) -> Bound:
        """What holds for an example that spends at most this share of the budget."""

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """The charges, rounded up; no square exceeds `largest`."""

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """The largest mu^2, at most `largest`, that costs at most what is left; rounded down."""

    @classmethod
    def of_values(cls, **values: Any) -> Self:
        """The rule with these parameters, checked."""


@dataclass(frozen=True)
class _OfMu:
    """The budget is that of a Gaussian mechanism, and squares of mu are what is shared."""

    mu: float

    @property
    def bound(self) -> Bound:
        """mu-GDP."""
        return self.bound_for(1.0)

    def bound_for(self, share: float) -> Bound:
        """That of the Gaussian mechanism with this share of the square."""
        return ProfileBound(Profile.gaussian(noise_multiplier=1 / (self.mu * math.sqrt(share))))


@dataclass(frozen=True)
class GaussianRule(_OfMu):
    """Squares of mu add up: full batches [KoskelaTobabenHonkela23]. Sampling is not used."""

    name: ClassVar[str] = "gaussian"
    parameters: ClassVar[tuple[str, ...]] = ("mu",)
    kind: Kind = "proven"

    @property
    def budget(self) -> float:
        """mu^2."""
        return self.mu * self.mu * (1 - ROUNDING)

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """The squares themselves, whatever the rate."""
        return squares * (1 + ROUNDING)

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """What is left."""
        return np.minimum(left * (1 - 2 * ROUNDING), largest)

    @classmethod
    def of_values(cls, **values: Any) -> GaussianRule:
        """From mu."""
        return cls(check.positive("mu", values["mu"]))


@dataclass(frozen=True)
class ApproximateRule(_OfMu):
    """The approximate Gaussian filter in one of its regimes: asymptotic, it under-reports."""

    name: ClassVar[str] = "approximate"
    parameters: ClassVar[tuple[str, ...]] = ("mu", "regime")
    regime: RegimeName
    kind: Kind = "asymptotic"

    @property
    def budget(self) -> float:
        """mu^2 / 2."""
        return self.mu * self.mu / 2

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """Those of the regime."""
        regime = chosen_regime(self.regime)
        require_admitted(regime, rate)
        return regime.charges(rate, squares)

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """The inverse in the regime."""
        return np.minimum(chosen_regime(self.regime).largest_squares(rate, left), largest)

    @classmethod
    def of_values(cls, **values: Any) -> ApproximateRule:
        """From mu and the name of the regime."""
        chosen_regime(values["regime"])
        return cls(check.positive("mu", values["mu"]), values["regime"])


@dataclass(frozen=True)
class RenyiRule:
    """Renyi divergences at one order add up [FeldmanZrnic21]; they are taken from a table.

    The divergence D is convex in s = mu^2 at every order a, so the chord between two nodes of the
    table is an upper bound, and its inverse errs on the safe side too. Convex, because LR is a
    martingale in s, LR = 1 - q + q e^(B_s - s/2): with c = a (a - 1) / 2, w = 1 - (1 - q) / LR and
    means weighted with LR^a, Ito's formula gives (a - 1) D' = c E[w^2] and
    (a - 1) D'' = c^2 Var[w^2] + c E[2 (a - 1) w^3 (1 - w) + w^2 (1 - w)^2] >= 0.
    """

    name: ClassVar[str] = "renyi"
    parameters: ClassVar[tuple[str, ...]] = ("order", "budget")
    order: float
    budget: float
    kind: Kind = "proven"

    @property
    def bound(self) -> Bound:
        """What the divergence implies."""
        return self.bound_for(1.0)

    def bound_for(self, share: float) -> Bound:
        """A share of the divergence."""
        return OneOrder(self.order, share * self.budget)

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """Chords of the table."""
        nodes, values = _table(self.order, self.budget, rate, largest)
        return np.interp(squares, nodes, values) * (1 + ROUNDING)

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """Where the chords reach what is left."""
        nodes, values = _table(self.order, self.budget, rate, largest)
        return np.interp(left, values, nodes) * (1 - 4 * ROUNDING)

    @classmethod
    def of_values(cls, **values: Any) -> RenyiRule:
        """From the order and the budget."""
        return cls(usable_order(values["order"]), check.positive("budget", values["budget"]))


# By the names that descriptions use.
RULES: Mapping[str, type[Rule]] = MappingProxyType(
    {rule.name: rule for rule in (RenyiRule, GaussianRule, ApproximateRule)}
)


@lru_cache(maxsize=MOST_TABLES)
def _table(
    order: float, budget: float, rate: float, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Divergences at equally spaced mu, up to what the whole budget affords."""
    top = _affordable(order, budget, rate, largest)
    count = NODES if order.is_integer() else NODES_OF_FRACTIONS
    nodes = np.linspace(0.0, 1.0, count) ** 2 * top
    # Bounds at fractional orders need not increase by themselves; the inverse needs it.
    values = np.maximum.accumulate(sampled_divergences(order, rate, nodes))
    if top < largest:
        # Whatever is longer costs more than any budget, and is clipped.
        values[-1] = max(float(values[-1]), budget)
        nodes, values = np.append(nodes, largest), np.append(values, 2 * values[-1])
    return nodes, values


def _affordable(order: float, budget: float, rate: float, largest: float) -> float:
    """The largest mu^2 up to `largest` that costs no more than the budget."""

    def fits(square: float) -> bool:
        return float(sampled_divergences(order, rate, np.array([square]))[0]) <= budget

    return largest if fits(largest) else bracket(fits, largest, 0.0)[1]


def step_charges(
    rule: Rule,
    norms: FloatArray,
    remaining: FloatArray,
    *,
    rate: float | FloatArray,
    noise_multiplier: float,
    clip_norm: float,
) -> tuple[FloatArray, FloatArray]:
    """What a step costs each example, and the factors that shorten contributions to what is paid.

    One round of [Tran26, Algorithm 3], for any rule: a contribution is clipped to the clip norm and
    to what the example's budget still affords, and charged by its norm after clipping. A budget for
    each example guarantees what one for all does: [FeldmanZrnic21] for Renyi divergences,
    [KoskelaTobabenHonkela23] for full batches, [Tran26, Theorem 4.4] in the limit. Charges are
    multiples of the last place of the budget, so that differences are exact.
    """
    largest = (1 / noise_multiplier) * (1 / noise_multiplier)
    if not 0 < largest < math.inf:
        raise InvalidParameter("noise_multiplier", "in (1e-150, 1e150)", noise_multiplier)
    with np.errstate(over="ignore"):
        clipped = np.minimum(norms / clip_norm, 1.0)
    charges = np.empty_like(norms)
    for one, which in _equal_rates(rate, norms.size):
        charges[which], clipped[which] = _charged(
            rule, one, clipped[which], remaining[which], largest
        )
    factors = np.divide(clipped * clip_norm, norms, out=np.ones_like(norms), where=norms > 0)
    # A product of factor and norm may be rounded up by some ulps: less than charges are.
    factors = np.where(remaining > 0, np.minimum(factors, 1.0), 0.0)
    return charges, factors


def _charged(
    rule: Rule, rate: float, clipped: FloatArray, remaining: FloatArray, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Of examples with one rate: charges, and lengths in units of the clip norm."""
    charges = rule.charges(rate, clipped**2 * largest, largest)
    charges = np.minimum(charges, 2 * rule.budget)
    place = math.ulp(rule.budget)
    # Multiples of the last place of the budget: differences are exact. Nothing is free.
    charges = np.maximum(np.ceil(charges / place), clipped > 0) * place
    short = np.flatnonzero(charges > remaining)
    if short.size:
        left = remaining[short]
        squares = rule.largest_squares(rate, left, largest)
        lengths = np.sqrt(np.maximum(squares, 0.0) / largest)
        clipped[short] = np.minimum(clipped[short], lengths)
        charges[short] = left
    return charges, clipped


def _equal_rates(
    rate: float | FloatArray, examples: int
) -> Iterator[tuple[float, slice | NDArray[np.intp]]]:
    """Groups of examples with one rate each, rounded up to RATE_DIGITS digits if they differ.

    A larger rate dominates a smaller one, so that charges are too large by at most what a few per
    cent of the rate cost.
    """
    if not isinstance(rate, np.ndarray):
        yield rate, slice(0, examples)
        return
    place = 10.0 ** (np.floor(np.log10(rate)) - (RATE_DIGITS - 1))
    # The second maximum undoes roundings of the first two operations.
    rounded = np.minimum(np.maximum(np.ceil(rate / place) * place, rate), 1.0)
    values, inverse = np.unique(rounded, return_inverse=True)
    for number, value in enumerate(values.tolist()):
        which = np.flatnonzero(inverse == number)
        # Of one group the largest rate counts, whatever the rounding did.
        yield max(value, float(rate[which].max())), which
