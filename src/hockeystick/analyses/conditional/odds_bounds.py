"""Gaussian variables below the log of a sum of likelihood ratios, for several choices of weights.

See posterior_tails.py for what they bound. The families of weights are those of Appendix F of the
sampling-free paper, with temperatures in units of the noise: "uniform"; "current", close to the
mean mu_i of the bin whose odds are bounded; "reference", close to the mean of the observation.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["FAMILIES", "TEMPERATURES", "OddsBounds", "odds_bounds", "shared_weights"]

FAMILIES = ("uniform", "current", "reference")
# Weights fall like e^(-distance^2 / t) with these t, distances in units of the noise.
TEMPERATURES = (32.0, 8.0, 2.0, 0.5)
# What floating point may take from a squared distance, relative to the squares it is made of.
ROUNDING = 1e-12

IntArray = NDArray[np.int64]


def shared_weights(
    gram: FloatArray, rivals: IntArray, *, families: Collection[str], central: bool
) -> FloatArray:
    """Log weights [choice, rival, bin] that do not depend on where x comes from.

    `central` if x has the mean 0: then closeness to its mean is one of the choices.
    """
    norms = np.diagonal(gram)
    distance = norms[rivals][:, None] + norms[None, :] - 2 * gram[rivals]
    temperatures = np.array(TEMPERATURES)[:, None, None]
    choices = []
    if "uniform" in families:
        choices.append(np.zeros((1, *distance.shape)))
    if "current" in families:
        choices.append(-distance / temperatures)
    if "reference" in families and central:
        shape = (temperatures.size, *distance.shape)
        choices.append(np.broadcast_to(-norms / temperatures, shape))
    weights: FloatArray = np.concatenate(choices)
    return weights


class OddsBounds(NamedTuple):
    """For each choice and rival: the mean for x with mean 0, what each mu_k adds to it, the sd."""

    base: FloatArray
    shift: FloatArray
    sd: FloatArray


def odds_bounds(gram: FloatArray, rivals: IntArray, logits: FloatArray) -> OddsBounds:
    """The Gaussian variables, for log weights that are -inf outside the sum."""
    norms = np.diagonal(gram)
    logits = logits - logits.max(axis=2, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=2, keepdims=True)
    weights /= total
    # Weights that underflow add nothing to the entropy.
    entropy = np.log(total[:, :, 0]) - (weights * np.maximum(logits, -750.0)).sum(axis=2)
    mixed = weights @ gram
    base = (norms[rivals] - weights @ norms) / 2 + entropy
    own = mixed[:, np.arange(rivals.size), rivals]
    length = (weights * mixed).sum(axis=2)
    square = norms[rivals] - 2 * own + length + ROUNDING * (norms[rivals] + length)
    return OddsBounds(base, mixed - gram[rivals], np.sqrt(np.maximum(square, 1e-300)))
