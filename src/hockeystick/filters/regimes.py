"""The two regimes of the approximate Gaussian filter: small and large sampling rates.

In both, a step with contribution mu is charged the leading term of the mean of its privacy loss
(fdp_filters, Theorem 4.1), which is half the leading term of the variance.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = ["Regime", "RegimeName", "chosen_regime", "require_admitted"]

RegimeName = Literal["small", "large"]
SMALL_RATES, LARGE_RATES = 0.2, 0.8
# A few operations lose less than this.
ROUNDING = 2.0**-46


class Regime(Protocol):
    """How charges depend on the contribution, for arrays of mu^2."""

    rates: str

    def admits(self, rate: float) -> bool:
        """Whether the approximation is meant for this rate."""

    def charges(self, rate: float, squares: FloatArray) -> FloatArray:
        """`getApprox` of Algorithm 2, rounded up."""

    def largest_squares(self, rate: float, left: FloatArray) -> FloatArray:
        """`invBudg` of Algorithm 2: the largest mu^2 that costs at most `left`, rounded down.

        It takes the rate of the step itself; the paper prints the bound on all rates here.
        """


class SmallRates:
    """q^2 (e^(mu^2) - 1) / 2, for rates below 0.2."""

    rates = f"in (0, {SMALL_RATES})"

    def admits(self, rate: float) -> bool:
        """Rates below 0.2."""
        return rate < SMALL_RATES

    def charges(self, rate: float, squares: FloatArray) -> FloatArray:
        """Exact for small mu as well."""
        with np.errstate(over="ignore"):
            result: FloatArray = rate**2 / 2 * np.expm1(squares) * (1 + ROUNDING)
        return result

    def largest_squares(self, rate: float, left: FloatArray) -> FloatArray:
        """The inverse, log(1 + 2 B / q^2)."""
        result: FloatArray = np.log1p(2 * left / rate**2 * (1 - 2 * ROUNDING)) * (1 - 2 * ROUNDING)
        return result


class LargeRates:
    """q^2 mu^2 / 2, for rates above 0.8."""

    rates = f"in ({LARGE_RATES}, 1]"

    def admits(self, rate: float) -> bool:
        """Rates above 0.8."""
        return rate > LARGE_RATES

    def charges(self, rate: float, squares: FloatArray) -> FloatArray:
        """Linear in mu^2."""
        return rate**2 / 2 * squares * (1 + ROUNDING)

    def largest_squares(self, rate: float, left: FloatArray) -> FloatArray:
        """The inverse, 2 B / q^2."""
        return 2 * left / rate**2 * (1 - 2 * ROUNDING)


REGIMES: dict[RegimeName, Regime] = {"small": SmallRates(), "large": LargeRates()}


def chosen_regime(name: RegimeName) -> Regime:
    """The regime of that name."""
    check.choice("regime", name, REGIMES, "'small' or 'large'")
    return REGIMES[name]


def require_admitted(regime: Regime, rate: float) -> None:
    """Refuse rates that the regime was not derived for."""
    if not regime.admits(rate):
        raise InvalidParameter("rate", f"{regime.rates} in this regime", rate)
