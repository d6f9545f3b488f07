"""Whether projections fit the plan: sums over canaries beside what draws of the plan give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.audit.hypotheses import Hypothesis, alternatives
from hockeystick.audit.null_law import Cumulants, Statistics, expected_of, statistics_of
from hockeystick.plan import Plan

__all__ = ["Fit", "fit_of"]

# Statistics that count if they are large: likelihoods of alternatives, and of noise begun anew.
ABOVE = (0, 5)
# Variances below this, relative to the square of the mean, are rounding.
CONSTANT = 1e-20


@dataclass(frozen=True)
class Fit:
    """What was found, and how probable something as far off is in a correct run.

    Attributes
    ----------
    alternatives
        What the plan was tested against.
    gains
        log likelihood of each alternative over that of the plan.
    p_gains, p_squares, p_products, p_means, p_total, p_restarts
        Of each statistic alone.
    ratios
        The sum of squares in each step over its expectation.
    noise_factor
        How many times the planned noise explains the sum of all squares.
    """

    alternatives: tuple[Hypothesis, ...]
    gains: FloatArray
    p_gains: FloatArray
    p_squares: FloatArray
    p_products: FloatArray
    p_means: FloatArray
    p_total: FloatArray
    p_restarts: FloatArray
    ratios: FloatArray
    noise_factor: float

    @property
    def p_value(self) -> float:
        """The smallest of all, times how many there are: Bonferroni's bound, family by family."""
        families = (
            self.p_gains,
            self.p_squares,
            self.p_products,
            self.p_means,
            self.p_total,
            self.p_restarts,
        )
        used = [family for family in families if family.size]
        least = min(float(family.min()) * family.size for family in used)
        return min(1.0, len(used) * least)


def fit_of(
    plan: Plan,
    noise_multiplier: float,
    projections: FloatArray,
    members: NDArray[np.bool_],
    *,
    seed: int,
) -> Fit:
    """Every statistic is a sum over independent canaries, whose law has the moments of the draws.

    Its tail is that of the gamma law with the same mean, variance and third moment: exact for
    squares of Gaussians, and an approximation whose error falls with the number of canaries
    elsewhere.
    """
    tested = tuple(alternatives(plan, noise_multiplier))
    totals, parts = _nothing(), []
    for group in (True, False):
        rows = projections[members == group]
        if len(rows):
            found = statistics_of(plan, noise_multiplier, tested, rows, members=group)
            totals = [total + one.sum(axis=0) for total, one in zip(totals, found, strict=True)]
            law = expected_of(plan, noise_multiplier, members=group, seed=seed)
            parts.append((len(rows), law))
    means, variances, thirds = (_combined(parts, which) for which in range(3))
    p = [
        _tails(*one, above=index in ABOVE)
        for index, one in enumerate(zip(totals, means, variances, thirds, strict=True))
    ]
    planned = len(projections) * plan.steps
    excess = float((totals[4] - means[4])[0])
    factor = float(np.sqrt(max(0.0, 1 + excess / planned)))
    gains, squares, products, by_step, total, restarts = p
    return Fit(
        alternatives=tested,
        gains=np.asarray(totals[0]),
        p_gains=gains,
        p_squares=squares,
        p_products=products,
        p_means=by_step,
        p_total=total,
        p_restarts=restarts,
        ratios=totals[1] / means[1],
        noise_factor=factor,
    )


def _nothing() -> list[FloatArray]:
    return [np.zeros(1)] * 6


def _combined(parts: list[tuple[int, Cumulants]], which: int) -> list[FloatArray]:
    """Cumulants of the sums; that the mean was drawn adds its own variance."""
    total = _nothing()
    for count, law in parts:
        one: Statistics = (law.mean, law.variance, law.third)[which]
        scale = count * (1 + count / law.draws) if which == 1 else float(count)
        total = [a + scale * b for a, b in zip(total, one, strict=True)]
    return total


def _tails(
    total: FloatArray, mean: FloatArray, variance: FloatArray, third: FloatArray, *, above: bool
) -> FloatArray:
    """The probability of a value as far above the mean, or as far on either side."""
    from scipy.stats import pearson3

    # What is the same for every canary tells nothing: alternatives about members without members.
    constant = variance <= CONSTANT * (1 + mean * mean)
    spread = np.sqrt(np.where(constant, 1.0, variance))
    skew = np.clip(third / spread**3, -2.0, 2.0)
    z = (total - mean) / spread
    upper = pearson3.sf(z, skew)
    found = upper if above else 2 * np.minimum(upper, pearson3.cdf(z, skew))
    result: FloatArray = np.where(constant, 1.0, np.clip(found, 0.0, 1.0))
    return result
