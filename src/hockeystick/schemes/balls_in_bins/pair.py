"""Balls-in-bins with independent noise: one allocation of what a bin does in the whole run.

The bins' contributions lie in different coordinates of C G, so given the data the likelihood ratios
of the bins are independent, and that of the run is their average: random allocation of a mechanism
that composes all participations of a bin. For the Gaussian mechanism and C = I that is one Gaussian
mechanism with sensitivity sqrt(participations). Correlated noise: see mixture.py.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.sampled import drawn_uniformly
from hockeystick.schemes import BallsInBins
from hockeystick.schemes.pairs.lengths import counted_lengths
from hockeystick.schemes.pairs.registry import DominatingPair, Step, pair_of

__all__ = ["balls_in_bins"]


def _objection(plan: Plan) -> str | None:
    bands = plan.strategy.bands
    if bands == 1 or cast("BallsInBins", plan.sampling).bins == 1:
        return None
    return f"it needs independent noise under {BallsInBins.name}, this strategy has {bands} bands"


@pair_of(BallsInBins, objection=_objection)
def balls_in_bins(plan: Plan, step: Step) -> DominatingPair:
    """Exact; the first bins take part once more if the bins do not divide the steps."""
    bins = cast("BallsInBins", plan.sampling).bins
    used = min(bins, plan.steps)
    if plan.strategy.is_identity:
        once = step(1.0)
        often, longer = divmod(plan.steps, bins)
        counts = [(often, bins - longer), (often + 1, longer)]
        parts = [(once.self_compose(times), many) for times, many in counts if times and many]
        exact = True
    else:
        lengths, exact = counted_lengths(np.sqrt(np.diagonal(plan.strategy.gram(spacing=bins))))
        parts = [(step(length), many) for length, many in lengths.items()]
    pair = drawn_uniformly([(profile.expression, many) for profile, many in parts])
    # Bins beyond the end of the run never take part.
    return DominatingPair(Profile(pair).subsample(rate_of_counts(used, bins)), tight=exact)
