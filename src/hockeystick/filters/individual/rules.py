"""How the contribution of one example is charged, for a million examples at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick.bounds.bound import Bound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.filters.regimes import RegimeName, chosen_regime, require_admitted
from hockeystick.filters.renyi.charge import prices
from hockeystick.filters.renyi.one_order import OneOrder
from hockeystick.guarantee import Kind
from hockeystick.profile import Profile

__all__ = ["ApproximateRule", "GaussianRule", "RenyiRule", "Rule"]

# A few operations lose less than this.
ROUNDING = 2.0**-46
# Nodes of a table of prices, fewer where each takes a millisecond, and how many are remembered.
NODES, NODES_OF_FRACTIONS, TABLES = 1025, 257, 64


class Rule(Protocol):
    """What an example may spend, and what a contribution costs it, for arrays of mu^2.

    mu is the norm of the clipped contribution over the standard deviation of the noise.
    """

    @property
    def kind(self) -> Kind:
        """How far the claim is established."""

    @property
    def budget(self) -> float:
        """What each example may spend."""

    @property
    def bound(self) -> Bound:
        """What holds for the run if no example spends more."""

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """The charges, rounded up; no square exceeds `largest`."""

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """The largest mu^2, at most `largest`, that costs at most what is left; rounded down."""

    def describe(self) -> Mapping[str, object]:
        """Its parameters as plain values."""


@dataclass(frozen=True)
class GaussianRule:
    """Squares of mu add up: full batches (Koskela et al. 2023). Sampling is not used."""

    mu: float
    kind: Kind = "proven"

    @property
    def budget(self) -> float:
        """mu^2."""
        return self.mu * self.mu * (1 - ROUNDING)

    @property
    def bound(self) -> Bound:
        """mu-GDP."""
        return ProfileBound(Profile.gaussian(noise_multiplier=1 / self.mu))

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """The squares themselves, whatever the rate."""
        return squares * (1 + ROUNDING)

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """What is left."""
        return np.minimum(left * (1 - 2 * ROUNDING), largest)

    def describe(self) -> Mapping[str, object]:
        """Its parameters."""
        return {"rule": "gaussian", "mu": self.mu}


@dataclass(frozen=True)
class ApproximateRule:
    """The approximate Gaussian filter in one of its regimes: asymptotic, it under-reports."""

    mu: float
    regime: RegimeName
    kind: Kind = "asymptotic"

    @property
    def budget(self) -> float:
        """mu^2 / 2."""
        return self.mu * self.mu / 2

    @property
    def bound(self) -> Bound:
        """mu-GDP, in the limit."""
        return ProfileBound(Profile.gaussian(noise_multiplier=1 / self.mu))

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """Those of the regime."""
        regime = chosen_regime(self.regime)
        require_admitted(regime, rate)
        return regime.charges(rate, squares)

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """The inverse in the regime."""
        return np.minimum(chosen_regime(self.regime).largest_squares(rate, left), largest)

    def describe(self) -> Mapping[str, object]:
        """Its parameters."""
        return {"rule": "approximate", "mu": self.mu, "regime": self.regime}


@dataclass(frozen=True)
class RenyiRule:
    """Renyi divergences at one order add up (Feldman & Zrnic 2021), from a table of prices.

    The divergence D is convex in s = mu^2 at every order a, so the chord between two nodes of the
    table is an upper bound, and its inverse errs on the safe side too. Convex, because LR is a
    martingale in s, LR = 1 - q + q e^(B_s - s/2): with c = a (a - 1) / 2, w = 1 - (1 - q) / LR and
    means weighted with LR^a, Ito's formula gives (a - 1) D' = c E[w^2] and
    (a - 1) D'' = c^2 Var[w^2] + c E[2 (a - 1) w^3 (1 - w) + w^2 (1 - w)^2] >= 0.
    """

    order: float
    budget: float
    kind: Kind = "proven"

    @property
    def bound(self) -> Bound:
        """What the divergence implies."""
        return OneOrder(self.order, self.budget)

    def charges(self, rate: float, squares: FloatArray, largest: float) -> FloatArray:
        """Chords of the table."""
        nodes, values = self._table(rate, largest)
        return np.interp(squares, nodes, values) * (1 + ROUNDING)

    def largest_squares(self, rate: float, left: FloatArray, largest: float) -> FloatArray:
        """Where the chords reach what is left."""
        nodes, values = self._table(rate, largest)
        return np.interp(left, values, nodes) * (1 - 4 * ROUNDING)

    def describe(self) -> Mapping[str, object]:
        """Its parameters."""
        return {"rule": "renyi", "order": self.order, "budget": self.budget}

    @cached_property
    def _tables(self) -> dict[tuple[float, float], tuple[FloatArray, FloatArray]]:
        return {}

    def _table(self, rate: float, largest: float) -> tuple[FloatArray, FloatArray]:
        """Prices at equally spaced mu, up to what the whole budget affords."""
        key = (rate, largest)
        if key not in self._tables:
            if len(self._tables) >= TABLES:
                self._tables.clear()
            top = self._affordable(rate, largest)
            count = NODES if self.order.is_integer() else NODES_OF_FRACTIONS
            nodes = np.linspace(0.0, 1.0, count) ** 2 * top
            # Bounds at fractional orders need not increase by themselves; the inverse needs it.
            values = np.maximum.accumulate(prices(self.order, rate, nodes))
            if top < largest:
                # Whatever is longer costs more than any budget, and is clipped.
                values[-1] = max(float(values[-1]), self.budget)
                nodes, values = np.append(nodes, largest), np.append(values, 2 * values[-1])
            self._tables[key] = nodes, values
        return self._tables[key]

    def _affordable(self, rate: float, largest: float) -> float:
        """The largest mu^2 up to `largest` that costs no more than the budget."""

        def fits(square: float) -> bool:
            return float(prices(self.order, rate, np.array([square]))[0]) <= self.budget

        return largest if fits(largest) else bracket(fits, largest, 0.0)[1]
