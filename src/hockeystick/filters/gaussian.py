"""The Gaussian filter, whose squares of mu add up, and its approximation for sampled steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.base import Filter
from hockeystick.filters.charging import ROUNDING
from hockeystick.filters.request import Expected, GaussianStep, checked_expected
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.ledger.heads import Where
from hockeystick.profile import Profile

__all__ = [
    "UNDER_REPORTS",
    "ApproximateGaussian",
    "Gaussian",
    "RegimeName",
    "chosen_regime",
    "require_admitted",
]

UNDER_REPORTS = (
    "asymptotic, with an unknown constant: at real settings the true epsilon can be far above it; "
    "audit() accounts for the realised schedule, filters.Renyi and filters.Gaussian are proven"
)
RegimeName = Literal["small", "large"]
# The approximations are expansions at rate 0 and at rate 1; between these the error of the leading
# term is of the size of the term itself (reproductions/fdp_loss_moments.py draws it).
SMALL_RATES, LARGE_RATES = 0.2, 0.8
# Up to 64 roundings of 2^-53 are 2^-47: powers, exponentials and products.
REGIME_ROUNDING = 2.0**-46


class Gaussian(Filter):
    """mu-GDP for any adaptive run of Gaussian steps whose squares of mu add up to mu^2.

    The charge of a step is (sensitivity / noise_multiplier)^2
    [KoskelaTobabenHonkela23; Tran26, Theorem 2.11]. Proven for full batches. Sampling is not used:
    a step at a rate below 1 is charged like one at rate 1, which dominates it. O(1) per request.

    Parameters
    ----------
    mu
        The budget: the run is mu-GDP.
    expected
        Expected requests (rate, noise_multiplier, steps). Checked, and not used: there is nothing
        to choose.
    ledger
        A path or a database URL in which the spending is kept; in memory by default.
    name
        Which budget of the ledger this is.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=0.5)
    >>> round(f.request(noise_multiplier=4.0).charge, 9)
    0.0625
    >>> round(f.guarantee().epsilon(1e-5), 3)
    1.993
    """

    kind = "proven"
    unit = "mu^2"
    parameters = ("mu",)

    def __init__(
        self,
        *,
        mu: float,
        expected: Expected | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        self.mu = check.positive("mu", mu)
        checked_expected(expected)
        super().__init__(
            budget=self.mu * self.mu * (1 - ROUNDING),
            description={"mu": self.mu},
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
        )

    @classmethod
    def for_target(
        cls, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]
    ) -> Gaussian:
        """With the mu of the Gaussian mechanism that is (epsilon, delta)-DP."""
        return cls(mu=_mu_for_target(epsilon, delta), expected=expected)

    def guarantee(self) -> Guarantee:
        """mu-GDP: the profile of one Gaussian mechanism with noise multiplier 1/mu."""
        bound = ProfileBound(Profile.gaussian(noise_multiplier=1 / self.mu))
        return Guarantee((Analysis("gaussian filter", self.kind, bound),))

    def _charge_of_step(self, step: GaussianStep) -> float:
        return step.square * (1 + ROUNDING)

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return math.sqrt(left) / step.mu * (1 - ROUNDING)


class Regime(Protocol):
    """The leading term of the mean of the privacy loss [Tran26, Theorem 4.1], for arrays of mu^2.

    It is half the leading term of the variance.
    """

    rates: str

    def admits(self, rate: float) -> bool:
        """Whether the approximation is meant for this rate."""

    def charges(self, rate: float, squares: FloatArray) -> FloatArray:
        """`getApprox` of [Tran26, Algorithm 2], rounded up."""

    def largest_squares(self, rate: float, left: FloatArray) -> FloatArray:
        """`invBudg` of [Tran26, Algorithm 2]: the largest mu^2 that costs at most `left`.

        Rounded down. It takes the rate of the step itself; the paper prints the bound on all rates
        here.
        """


class SmallRates:
    """q^2 (e^(mu^2) - 1) / 2, for rates below 0.2."""

    rates = f"in (0, {SMALL_RATES})"

    def admits(self, rate: float) -> bool:
        """Rates below 0.2."""
        return rate < SMALL_RATES

    def charges(self, rate: float, squares: FloatArray) -> FloatArray:
        """Accurate for small mu as well."""
        with np.errstate(over="ignore"):
            result: FloatArray = rate**2 / 2 * np.expm1(squares) * (1 + REGIME_ROUNDING)
        return result

    def largest_squares(self, rate: float, left: FloatArray) -> FloatArray:
        """The inverse, log(1 + 2 B / q^2)."""
        down = 1 - 2 * REGIME_ROUNDING
        result: FloatArray = np.log1p(2 * left / rate**2 * down) * down
        return result


class LargeRates:
    """q^2 mu^2 / 2, for rates above 0.8."""

    rates = f"in ({LARGE_RATES}, 1]"

    def admits(self, rate: float) -> bool:
        """Rates above 0.8."""
        return rate > LARGE_RATES

    def charges(self, rate: float, squares: FloatArray) -> FloatArray:
        """Linear in mu^2."""
        return rate**2 / 2 * squares * (1 + REGIME_ROUNDING)

    def largest_squares(self, rate: float, left: FloatArray) -> FloatArray:
        """The inverse, 2 B / q^2."""
        return 2 * left / rate**2 * (1 - 2 * REGIME_ROUNDING)


REGIMES: Mapping[RegimeName, Regime] = MappingProxyType(
    {"small": SmallRates(), "large": LargeRates()}
)


def chosen_regime(name: RegimeName) -> Regime:
    """The regime of that name."""
    check.choice("regime", name, REGIMES, "'small' or 'large'")
    return REGIMES[name]


def require_admitted(regime: Regime, rate: float) -> None:
    """Refuse rates that the regime was not derived for."""
    if not regime.admits(rate):
        raise InvalidParameter("rate", f"{regime.rates} in this regime", rate)


class ApproximateGaussian(Filter):
    """About mu-GDP in the limit of many steps of sampled Gaussians: it under-reports.

    The charge of a step is q^2 (e^(1/sigma^2) - 1) / 2 at small rates (below 0.2) and
    q^2 / (2 sigma^2) at large ones (above 0.8); the budget is B = mu^2 / 2
    [Tran26, Algorithm 2 and Theorem 4.3], with the step's own rate in the inverse and a last step
    that is charged what it is clipped to.

    The theorem is a limit with an unspecified constant, hence the kind "asymptotic". Measured at
    delta = 1e-5: rate 0.01, noise 1, 524 steps 1.13 where the truth is 1.35; rate 0.01, noise 0.8,
    239 steps 1.13 against 1.89. `audit()` shows the gap of a run. O(1) per request.

    Parameters
    ----------
    mu
        The budget is mu^2 / 2.
    regime
        "small" for rates below 0.2, "large" for rates above 0.8.
    expected
        Expected requests (rate, noise_multiplier, steps). Checked, and not used: there is nothing
        to choose.
    ledger, name
        Where the spending is kept, and under which name.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.ApproximateGaussian(mu=0.3003)
    >>> permit = f.request(rate=0.01, noise_multiplier=1.0, steps=524, clip=False)
    >>> f.kind, round(f.guarantee().epsilon(1e-5), 2)  # the truth is 1.35
    ('asymptotic', 1.13)
    """

    kind = "asymptotic"
    unit = "mean privacy loss"
    parameters = ("mu", "regime")

    def __init__(
        self,
        *,
        mu: float,
        regime: RegimeName = "small",
        expected: Expected | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        self.mu = check.positive("mu", mu)
        self._regime, self.regime = chosen_regime(regime), regime
        checked_expected(expected)
        super().__init__(
            budget=self.mu * self.mu / 2,
            description={"mu": self.mu, "regime": regime},
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
        )

    @classmethod
    def for_target(
        cls, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]
    ) -> ApproximateGaussian:
        """As if the limit were reached, in the regime that is nearer to the largest rate."""
        regime: RegimeName = "small" if max(one.rate for one in expected) < 0.5 else "large"
        return cls(mu=_mu_for_target(epsilon, delta), regime=regime, expected=expected)

    def guarantee(self) -> Guarantee:
        """mu-GDP as if the limit were reached: kind "asymptotic"."""
        bound = ProfileBound(Profile.gaussian(noise_multiplier=1 / self.mu))
        analysis = Analysis("approximate gaussian filter", self.kind, bound)
        return Guarantee((analysis,), find_note=lambda: UNDER_REPORTS)

    def _charge_of_step(self, step: GaussianStep) -> float:
        require_admitted(self._regime, step.rate)
        return float(self._regime.charges(step.rate, np.array([step.square]))[0])

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        square = float(self._regime.largest_squares(step.rate, np.array([left]))[0])
        return math.sqrt(square) / step.mu * (1 - ROUNDING)


def _mu_for_target(epsilon: float, delta: float) -> float:
    """The mu of the Gaussian mechanism that is (epsilon, delta)-DP, and not less private."""

    def fits(noise: float) -> bool:
        return Profile.gaussian(noise_multiplier=noise).epsilon(delta) <= epsilon

    high = 1.0
    while not fits(high):
        high *= 2
    low = high / 2
    while fits(low):
        low, high = low / 2, low
    return 1 / bracket(fits, low, high, tolerance=1e-6)[1]
