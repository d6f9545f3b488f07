"""How Gaussian the privacy loss of a realised schedule is: the quantities of the limit theorem."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.moments import RegimeName, approximate_moments, loss_moments

__all__ = ["LimitQuantities", "Stretch", "limit_quantities"]


class Stretch(NamedTuple):
    """Equal steps of a schedule of sampled Gaussians."""

    rate: float
    noise_multiplier: float
    steps: int = 1


@dataclass(frozen=True)
class LimitQuantities:
    """What Theorem 4.2 of fdp_filters asks of a schedule; a diagnostic, not a guarantee.

    The means of the loss add up to m1 and -m2 within eta1 and eta2, its variances to v within
    kappa, and no third absolute moment exceeds rho times its variance. Then the run is close to
    G_mu with mu = (m1 + m2) / sqrt(v), up to phi in mu and an unknown constant times `distance` in
    the trade-off curve. All deviations are in units of sqrt(v).
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
    schedule: Iterable[Stretch], *, regime: RegimeName = "small", budget: float | None = None
) -> LimitQuantities:
    """The quantities of Theorem 4.2 for steps that are given as (rate, noise_multiplier, steps).

    With m1 = m2 = B and v = 2 B as in the proof of Theorem 4.3, where B is `budget`, or what the
    approximations of the regime add up to. Moments are by quadrature, about 1e-9 accurate. Cost:
    one quadrature for each stretch.
    """
    means = {"p": 0.0, "q": 0.0}
    variances = {"p": 0.0, "q": 0.0}
    charged = rho = 0.0
    for stretch in schedule:
        rate, noise_multiplier, steps = stretch
        steps = check.positive_integer("steps", steps)
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
