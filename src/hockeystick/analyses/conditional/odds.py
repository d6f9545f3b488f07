"""What bounded odds mean for one step: bounds on the odds, and the random shift that they imply.

**Bounds on the odds.** Gaussian variables below the log of a sum of likelihood ratios, for several
choices of weights; posterior_tails.py says what they bound. The families of weights are those of
[SchuchardtKalinin26, Appendix F], with temperatures in units of the noise: "uniform"; "current",
close to the mean mu_i of the bin whose odds are bounded; "reference", close to the mean of the
observation.

**Dominating levels.** One random shift that dominates every step of a segment of the run. In each
step the example adds a level a_i, i its bin; given the earlier outputs the bin has a posterior law.
If the odds of step n are bounded by X_i >= y |B_i|, where y may depend on |B_i|, its level is
stochastically smaller than the one made here, and a random shift that is stochastically larger
gives a larger divergence in both directions [ChoquetteChoo24, Corollary 4.4].

Sort the levels of a step from the top and let U_1, U_2, ... be the groups of equal levels, B_q what
lies below U_q. The odds of U_q against B_q are at most |U_q| / (|B_q| y_q), so the bin lies outside
the first q groups with a probability of at least prod_(s<=q) |B_s| y_s / (|U_s| + |B_s| y_s)
([SchuchardtKalinin26, Lemma 4.3], for groups). For a segment the smallest of these, and the largest
level, are taken at each rank.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = [
    "FAMILIES",
    "TEMPERATURES",
    "OddsBounds",
    "Weights",
    "dominating_levels",
    "odds_bounds",
    "shared_weights",
]

FAMILIES = ("uniform", "current", "reference")
# Weights fall like e^(-distance^2 / t) with these t, distances in units of the noise.
TEMPERATURES = (32.0, 8.0, 2.0, 0.5)
# What floating point may take from a squared distance, relative to the squares it is made of.
ROUNDING = 1e-12

IntArray = NDArray[np.int64]


class Weights(NamedTuple):
    """Which weights of Jensen's inequality are tried: families, and how fast they fall."""

    families: Collection[str] = FAMILIES
    temperatures: Sequence[float] = TEMPERATURES


def shared_weights(
    gram: FloatArray, bins: IntArray, *, weights: Weights, central: bool
) -> FloatArray:
    """Log weights [choice, bin, other bin] that do not depend on where x comes from.

    `central` if x has the mean 0: then closeness to its mean is one of the choices.
    """
    norms, families = np.diagonal(gram), weights.families
    distance = norms[bins][:, None] + norms[None, :] - 2 * gram[bins]
    temperatures = np.array(weights.temperatures)[:, None, None]
    choices = []
    if "uniform" in families:
        choices.append(np.zeros((1, *distance.shape)))
    if "current" in families:
        choices.append(-distance / temperatures)
    if "reference" in families and central:
        shape = (temperatures.size, *distance.shape)
        choices.append(np.broadcast_to(-norms / temperatures, shape))
    found: FloatArray = np.concatenate(choices)
    return found


class OddsBounds(NamedTuple):
    """For each choice and bin: the mean for x with mean 0, what each mu_k adds to it, the sd."""

    base: FloatArray
    shift: FloatArray
    sd: FloatArray


def odds_bounds(gram: FloatArray, bins: IntArray, logits: FloatArray) -> OddsBounds:
    """The Gaussian variables, for log weights that are -inf outside the sum."""
    norms = np.diagonal(gram)
    logits = logits - logits.max(axis=2, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=2, keepdims=True)
    weights /= total
    # Weights that underflow add nothing to the entropy.
    entropy = np.log(total[:, :, 0]) - (weights * np.maximum(logits, -750.0)).sum(axis=2)
    mixed = weights @ gram
    base = (norms[bins] - weights @ norms) / 2 + entropy
    own = mixed[:, np.arange(bins.size), bins]
    length = (weights * mixed).sum(axis=2)
    square = norms[bins] - 2 * own + length + ROUNDING * (norms[bins] + length)
    return OddsBounds(base, mixed - gram[bins], np.sqrt(np.maximum(square, 1e-300)))


def dominating_levels(levels: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Levels from the largest to the smallest, and their weights, for the rows of `levels`.

    `shares[k]` is the y of bins with k bins below.
    """
    sorted_levels = -np.sort(-levels, axis=1)
    outside = _outside(sorted_levels, shares)
    weights = -np.diff(np.concatenate(([1.0], outside)))
    return sorted_levels.max(axis=0), weights


def _outside(sorted_levels: FloatArray, shares: FloatArray) -> FloatArray:
    """A lower bound on the probability outside the first r ranks, for r = 1, ..., b."""
    b = sorted_levels.shape[1]
    ends = np.ones_like(sorted_levels, dtype=bool)
    ends[:, :-1] = sorted_levels[:, :-1] > sorted_levels[:, 1:]
    lowest = np.full(b, np.inf)
    for pattern in np.unique(ends, axis=0):
        last = np.flatnonzero(pattern) + 1  # ranks at which groups end
        size = np.diff(np.concatenate(([0], last)))
        below = (b - last) * shares[b - last]
        lowest[pattern] = np.minimum(lowest[pattern], np.cumprod(below / (size + below)))
    # Ranks inside every group are free: nothing is placed there. Larger ranks only lose mass.
    outside: FloatArray = np.minimum.accumulate(np.minimum(lowest, 1.0))
    return outside
