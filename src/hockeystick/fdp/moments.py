"""Moments of the privacy loss of the Poisson-sampled Gaussian, and how Gaussian a schedule is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import mixed_losses
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.schedule import EqualSteps

__all__ = [
    "LimitQuantities",
    "LossMoments",
    "RegimeName",
    "SideMoments",
    "approximate_moments",
    "limit_quantities",
    "loss_moments",
]

RegimeName = Literal["small", "large"]
# The Gaussians are cut this many standard deviations out: 1e-40 of their mass is beyond.
REACH = 13.5
# Of the trapezoidal rule: the kink of the third moment costs about 1e-10 at this step.
STEP = 1e-3
# E|Z|^3 for a standard normal Z.
THIRD_OF_NORMAL = math.sqrt(8 / math.pi)


class SideMoments(NamedTuple):
    """Mean, variance and third absolute central moment of the loss L = log dP/dQ.

    Attributes
    ----------
    mean, variance, third : float
        The moments.
    """

    mean: float
    variance: float
    third: float


@dataclass(frozen=True)
class LossMoments:
    """Moments of the privacy loss under both distributions of a pair.

    Attributes
    ----------
    p : SideMoments
        For outputs drawn from P, with the example.
    q : SideMoments
        For outputs drawn from Q, without it.
    """

    p: SideMoments
    q: SideMoments


def loss_moments(*, rate: float, noise_multiplier: float, sensitivity: float = 1.0) -> LossMoments:
    """Moments of L = log(1 - q + q e^(mu y - mu^2/2)) with mu = sensitivity / noise_multiplier.

    P = (1 - q) N(0, 1) + q N(mu, 1), Q = N(0, 1). By the trapezoidal rule with steps of 1e-3, which
    converges faster than any power for means and variances and to about 1e-10 for the third
    moment, where |L - mean|^3 has a kink in its third derivative. Estimates, not bounds. Cost:
    about 30,000 + 1,000 mu evaluations.

    Parameters
    ----------
    rate
        Probability q with which an example takes part.
    noise_multiplier
        Standard deviation of the noise over the clip norm.
    sensitivity
        Largest contribution in units of the clip norm.

    Returns
    -------
    LossMoments
        Under P and under Q.

    Examples
    --------
    >>> import hockeystick as hs
    >>> round(hs.fdp.loss_moments(rate=1.0, noise_multiplier=2.0).p.mean, 9)  # mu^2 / 2
    0.125
    """
    rate = check.sampling_rate("rate", rate)
    noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
    mu = check.positive("sensitivity", sensitivity) / noise_multiplier
    if not mu <= 1e3:
        raise InvalidParameter("noise_multiplier", ">= sensitivity / 1000", noise_multiplier)
    count = math.ceil((2 * REACH + mu) / STEP)
    y = np.linspace(-REACH, mu + REACH, count + 1)
    without = np.exp(-(y**2) / 2)
    present = np.exp(-((y - mu) ** 2) / 2)
    exponent = mu * (y - mu / 2)
    loss = exponent if rate == 1 else mixed_losses(rate, exponent)
    return LossMoments(
        p=_moments(loss, (1 - rate) * without + rate * present), q=_moments(loss, without)
    )


def approximate_moments(
    *,
    rate: float,
    noise_multiplier: float,
    sensitivity: float = 1.0,
    regime: RegimeName = "small",
) -> LossMoments:
    """The leading terms of [Tran26, Theorem 4.1]; third moments are those of its F.1 and F.2.

    Small rates: mean q^2 (e^(mu^2) - 1) / 2, variance twice that, third moment at most
    q^3 (e^(3 mu^2) + 3 e^(mu^2) + 1). Large rates and much noise: q^2 mu^2 / 2, twice that, and at
    most (2 - q^3) sqrt(8 / pi) mu^3. Approximations: they err on either side.

    Parameters
    ----------
    rate
        Probability q with which an example takes part.
    noise_multiplier
        Standard deviation of the noise over the clip norm.
    sensitivity
        Largest contribution in units of the clip norm.
    regime
        "small" or "large" rates.

    Returns
    -------
    LossMoments
        Under P and under Q.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.fdp.approximate_moments(rate=0.9, noise_multiplier=3.0, regime="large")
    >>> round(found.p.mean, 9)
    0.045
    """
    rate = check.sampling_rate("rate", rate)
    noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
    mu = check.positive("sensitivity", sensitivity) / noise_multiplier
    check.choice("regime", regime, ("small", "large"), "'small' or 'large'")
    if regime == "small":
        with np.errstate(over="ignore"):
            variance = rate**2 * float(np.expm1(mu * mu))
            third = rate**3 * float(np.exp(3 * mu * mu) + 3 * np.exp(mu * mu) + 1)
    else:
        variance = (rate * mu) * (rate * mu)
        third = (2 - rate**3) * THIRD_OF_NORMAL * (mu * mu * mu)
    return LossMoments(
        p=SideMoments(variance / 2, variance, third), q=SideMoments(-variance / 2, variance, third)
    )


@dataclass(frozen=True)
class LimitQuantities:
    """What [Tran26, Theorem 4.2] asks of a schedule; a diagnostic, not a guarantee.

    The means of the loss add up to m1 and -m2 within eta1 and eta2, its variances to v within
    kappa, and no third absolute moment exceeds rho times its variance. Then the run is close to
    G_mu with mu = (m1 + m2) / sqrt(v), up to phi in mu and an unknown constant times `distance` in
    the trade-off curve. The attributes are in units of the loss (v and kappa of its square); phi
    and `distance` divide, by sqrt(v) and v. Appendix E.1 prints sqrt(kappa) where the theorem has
    sqrt(v), see docs/errata.md.

    Attributes
    ----------
    m1, m2, v : float
        Means and variance of the limit.
    eta1, eta2, kappa, rho : float
        How far the schedule is from it.
    """

    m1: float
    m2: float
    v: float
    eta1: float
    eta2: float
    kappa: float
    rho: float

    @property
    def mu(self) -> float:
        """(m1 + m2) / sqrt(v)."""
        return (self.m1 + self.m2) / math.sqrt(self.v)

    @property
    def phi(self) -> float:
        """(eta1 + eta2) / sqrt(v): how far mu may be off."""
        return (self.eta1 + self.eta2) / math.sqrt(self.v)

    @property
    def distance(self) -> float:
        """r |log r| + sqrt(kappa / v) with r = rho / sqrt(v); the theorem's constant is unknown."""
        share = self.rho / math.sqrt(self.v)
        return share * abs(math.log(share)) + math.sqrt(self.kappa / self.v)

    @property
    def applies(self) -> bool:
        """Whether the theorem says anything: 4 rho^2 <= v and 4 kappa <= v."""
        return 4 * self.rho**2 <= self.v and 4 * self.kappa <= self.v


def limit_quantities(
    schedule: Iterable[EqualSteps], *, regime: RegimeName = "small", budget: float | None = None
) -> LimitQuantities:
    """The quantities of [Tran26, Theorem 4.2] for a schedule.

    With m1 = m2 = B and v = 2 B as in the proof of Theorem 4.3, where B is `budget`, or what the
    approximations of the regime add up to. Moments are by quadrature, about 1e-9 accurate. Cost:
    one quadrature for each entry.

    Parameters
    ----------
    schedule
        Entries (rate, noise_multiplier, steps).
    regime
        "small" or "large" rates.
    budget
        B; by default what the schedule adds up to.

    Returns
    -------
    LimitQuantities
        `applies` says whether the theorem says anything.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.fdp.limit_quantities([(0.01, 0.8, 239)])
    >>> round(found.mu, 3), found.applies
    (0.3, False)
    """
    means = {"p": 0.0, "q": 0.0}
    variances = {"p": 0.0, "q": 0.0}
    charged = rho = 0.0
    for rate, noise_multiplier, count in schedule:
        steps = check.positive_integer("steps", count)
        moments = loss_moments(rate=rate, noise_multiplier=noise_multiplier)
        near = approximate_moments(rate=rate, noise_multiplier=noise_multiplier, regime=regime)
        charged += steps * near.p.mean
        for side, found in (("p", moments.p), ("q", moments.q)):
            means[side] += steps * found.mean
            variances[side] += steps * found.variance
            # Where the variance underflows, so does the share of the step in anything.
            rho = max(rho, found.third / found.variance if found.variance > 0 else 0.0)
    if not charged > 0:
        raise InvalidParameter("schedule", "at least one step", schedule)
    b = charged if budget is None else check.positive("budget", budget)
    return LimitQuantities(
        m1=b,
        m2=b,
        v=2 * b,
        eta1=abs(means["p"] - b),
        eta2=abs(means["q"] + b),
        kappa=max(abs(variances["p"] - 2 * b), abs(variances["q"] - 2 * b)),
        rho=rho,
    )


def _moments(loss: FloatArray, weights: FloatArray) -> SideMoments:
    """Weighted moments; weights that sum to a number other than one are scaled."""
    weights = weights / weights.sum()
    mean = float(weights @ loss)
    centred = loss - mean
    return SideMoments(mean, float(weights @ centred**2), float(weights @ np.abs(centred) ** 3))
