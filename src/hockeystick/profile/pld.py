"""Exchange with dp-accounting's privacy loss distributions (extra `pld`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Side, from_losses, reverse
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.profile.convolution import regrid
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.composed import Minimum
from hockeystick.profile.expressions.discrete import Atoms

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["expression_from_pld", "pld_from_law"]

# dp-accounting keeps one number per lattice point; beyond this many the interval is too small.
MOST_POINTS = 10_000_000


def pld_from_law(law: Law, *, interval: float) -> PrivacyLossDistribution:
    """The law rounded up, in convex order, to multiples of `interval`."""
    distribution, pmf = _dp_accounting()
    first, last = np.floor(law.loss[0] / interval), np.ceil(law.loss[-1] / interval)
    if not last - first < MOST_POINTS:
        allowed = f"at least {(law.loss[-1] - law.loss[0]) / MOST_POINTS:.3g} for this profile"
        raise InvalidParameter("interval", allowed, interval)
    # One point more, so that a law on a single lattice point still has a cell.
    points = np.arange(int(first), int(last) + 2, dtype=np.float64) * interval
    rounded = regrid(law, points, Side.UPPER)

    def export(one: Law) -> Any:
        index = np.rint(one.loss / interval).astype(int).tolist()
        masses = dict(zip(index, one.p.tolist(), strict=True))
        return pmf.create_pmf(masses, interval, one.p_infinite, pessimistic_estimate=True)

    result: PrivacyLossDistribution = distribution.PrivacyLossDistribution(
        export(rounded), export(reverse(rounded))
    )
    return result


def expression_from_pld(pld: PrivacyLossDistribution) -> Expression:
    """Both directions of the distribution; where they differ, the best of the two bounds."""
    _dp_accounting()
    remove = Atoms(_law_from_pmf(pld._pmf_remove))
    if pld._symmetric:
        return remove
    return Minimum(remove, Atoms(_law_from_pmf(pld._pmf_add)).reverse())


def _law_from_pmf(pmf: Any) -> Law:
    """P-masses at multiples of the interval; Q-mass that they do not account for is at zero."""
    if not pmf._pessimistic_estimate:
        raise InvalidParameter("pld", "a pessimistic estimate", "an optimistic one")
    dense = pmf.to_dense_pmf()
    p: FloatArray = np.asarray(dense._probs, dtype=np.float64)
    loss = (dense._lower_loss + np.arange(p.size)) * dense._discretization
    keep = p > 0
    loss, p = loss[keep], p[keep]
    # Below 0 the Q-mass is the larger one: p e^-l cannot overflow for masses that sum to one.
    main = np.where(loss >= 0, p, p * np.exp(np.minimum(-loss, 700.0)))
    law = from_losses(loss, main, p_infinite=float(dense._infinity_mass))
    return law._replace(q_zero=max(0.0, 1.0 - float(law.q.sum())))


def _dp_accounting() -> tuple[Any, Any]:
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise MissingExtra("dp-accounting is needed for this", extra="pld") from None
    return privacy_loss_distribution, pld_pmf
