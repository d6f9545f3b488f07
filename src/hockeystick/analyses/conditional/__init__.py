"""`conditional`: steps composed as if independent, given what the earlier ones may have revealed.

[SchuchardtKalinin26, Algorithm 4 and Lemma 4.1], with the errata. Outside a bad event no output so
far says much about the bin of the example, and each step is dominated by a fixed random shift with
Gaussian noise; those are composed like any mechanisms, and the probability of the bad
event is added to delta. It is bounded by a sum over the steps and over the bins above the lowest
level. (The paper takes the largest bound of an epoch for all its steps and charges its probability
once; that is refuted, not only unproven.)

The bins of a segment of steps that have equally many bins below them share one threshold for the
odds, the largest for which the sum of the tails is within their part of the bad event: odds of bins
that took part a while ago move further than those of the last one. The first epoch, in which odds
grow quickly, has several segments, every later one is a single one. Which part of delta the bad
event gets is searched for every request. Both directions have thresholds of their own: the earlier
outputs are those of the run with the example for remove, and of the run without it for add.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from hockeystick import _validate as check
from hockeystick.analyses.conditional.bound import DEFAULT_SEARCH, ConditionalBound
from hockeystick.analyses.conditional.odds import FAMILIES, TEMPERATURES, Weights
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.combined import subsampled
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.schemes.capabilities import offered

__all__ = ["METHOD", "conditional"]

# Products with a Gram matrix, in units of the budget: they are fast, and there are five of each.
PRODUCTS = 0.02


def _cost(plan: Plan) -> float:
    """For each step, for each bin above the lowest level: products with a Gram matrix."""
    bins = offered(plan.sampling.uniform_mixture(plan)).used
    return PRODUCTS * plan.steps * min(plan.strategy.bands, bins) * bins**2


def conditional(
    *,
    bad_event: float | None = None,
    families: Collection[str] = FAMILIES,
    temperatures: Sequence[float] = TEMPERATURES,
    by_bin: bool = False,
    segments: int = DEFAULT_SEARCH.first_epoch,
) -> Method:
    """The analysis `conditional` with choices of its own, as a `method` of `account`.

    Every choice gives a valid bound; the default is what `method="conditional"` takes. For
    comparisons with other implementations of [SchuchardtKalinin26, Algorithm 4].

    Parameters
    ----------
    bad_event
        The probability of the bad event, which is added to delta (delta_E of the paper); by
        default the best one is searched for every request.
    families
        Weights of Jensen's inequality that are tried: of "uniform", "current" and "reference",
        options 1, 3 and 2 of the paper.
    temperatures
        How fast the weights of the last two fall with the squared distance, in units of the noise.
    by_bin
        Whether every bin that the observation may come from has weights of its own.
    segments
        Into how many parts the first epoch falls; the steps of each are bounded together.

    Returns
    -------
    Method
        To be given to `account` or `calibrate`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(
    ...     sampling=hs.BallsInBins(bins=20), steps=20, strategy=hs.strategies.bsr(20, bands=2)
    ... )
    >>> fixed = hs.account(plan, noise_multiplier=3.0, method=hs.conditional(bad_event=5e-6))
    >>> usual = hs.account(plan, noise_multiplier=3.0, method="conditional")
    >>> fixed.epsilon(1e-5) >= usual.epsilon(1e-5)
    True
    """
    if bad_event is not None:
        bad_event = check.small_probability("bad_event", bad_event)
    for family in families:
        check.choice("families", family, FAMILIES)
    weights = Weights(
        tuple(families), tuple(check.positive("temperatures", one) for one in temperatures)
    )
    if not (weights.families and weights.temperatures):
        raise InvalidParameter("families, temperatures", "not empty", (families, temperatures))
    first = check.positive_integer("segments", segments)
    settings = replace(DEFAULT_SEARCH, first_epoch=first)
    central = check.boolean("by_bin", by_bin)

    def analyse(request: Request) -> Analysis:
        means = offered(request.plan.sampling.uniform_mixture(request.plan))
        mixture = means.with_noise(request.noise_multiplier)
        bound = ConditionalBound(
            lambda: mixture.levels,
            weights=weights,
            by_bin=central,
            bad_event=bad_event,
            settings=settings,
        )
        return Analysis(METHOD.name, METHOD.kind, subsampled(bound, mixture.share))

    return replace(METHOD, analyse=analyse)


def _analyse(request: Request) -> Analysis:
    """O(steps b^2) for each bin above the lowest level, and about thirty compositions."""
    return conditional().analyse(request)


# That `gram` is never worse is measured, not proved: 90 settings in docs/gram.md (1.8 to 34 times
# the epsilon) and 46 random plans of 2 to 50 bins (1.17 times and more).
METHOD = Method(
    name="conditional",
    kind="proven",
    summary="steps composed given bounded odds of the bin, plus the chance that they are not",
    analyse=_analyse,
    needs=("uniform_mixture",),
    second_to=("profile", "gram"),
    cost=_cost,
)
