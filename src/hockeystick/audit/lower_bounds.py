"""Lower confidence bounds on epsilon, from how well an attack separates canaries.

Three of them, with fewer and fewer assumptions. **plan**: the run is the plan at some noise
multiplier, which the canaries that are not in the data measure. **trade-off**: the run has the
trade-off function of the plan at some noise multiplier; an attack that found a of n members with b
of k false alarms excludes every noise at which as good an attack is too improbable. In both cases
the largest noise that is left has a proven lower bound on epsilon. **nothing**: guesses would be
right too often for an (epsilon, delta)-private run [SteinkeNasrJagielski23]; that needs members
that were chosen independently with probability 1/2, and holds for scores of any kind: black-box
canaries have a score each, and nothing else is known of the run.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from hockeystick import _validate as check_
from hockeystick._numerics.law import FloatArray
from hockeystick.accounting import account
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan

__all__ = [
    "epsilon_of_guesses",
    "epsilon_of_losses",
    "epsilon_of_scores",
    "largest_noise",
    "measured_noise",
]

# Intervals in which the false positive rate may lie; each takes the worse of its ends.
INTERVALS = 64
# The share of the error probability that is spent on where the false positive rate may lie.
NUISANCE = 1 / 20
# Losses at which the trade-off function is bounded; between them it is bounded by lines.
# The attack has its threshold at 0, so that few are needed.
LOSSES = np.array([0.0, 0.15, 0.3, 0.5, 0.8, 1.3, 2.0, 3.0])
# The largest noise is searched within this factor of the plan's, in steps of the second one and
# then to this accuracy, outwards.
FARTHEST, STEP, ACCURACY = 8.0, 1.2, 0.005
# Shares of the canaries, the most confident ones, that are guessed.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
# Where the search for epsilon ends: 2^62 canaries that are all guessed right show less.
LARGEST_EPSILON = 50.0


def measured_noise(outputs: FloatArray, *, confidence: float) -> float:
    """An upper confidence bound on the noise: the sum of squares is s^2 times a chi-squared law.

    `outputs` are the decorrelated outputs along canaries that are not in the data.
    """
    from scipy.stats import chi2

    return math.sqrt(float((outputs * outputs).sum()) / chi2.ppf(1 - confidence, outputs.size))


@lru_cache(maxsize=32)
def largest_noise(
    plan: Plan,
    noise_multiplier: float,
    *,
    found: int,
    members: int,
    alarms: int,
    others: int,
    confidence: float,
) -> float:
    """The largest noise multiplier of the plan at which an attack this good is not excluded.

    The attack found `found` of `members` with `alarms` false alarms among `others`. At a noise with
    the trade-off bound T, a false positive rate f has a true positive rate of at most T(f), and the
    difference of the two observed rates is tested: its tail at (T(f), f) is the largest over the
    interval of f that the alarms allow, whose error probability is added [BergerBoos94]. 0 if no
    noise is left, infinity if all are.
    """
    from scipy.stats import beta, binom

    error = 1 - confidence
    nuisance = NUISANCE * error
    low = beta.ppf(nuisance / 2, alarms, others - alarms + 1) if alarms else 0.0
    high = beta.ppf(1 - nuisance / 2, alarms + 1, others - alarms) if alarms < others else 1.0
    rates = np.linspace(low, high, INTERVALS + 1)
    counts = np.arange(others + 1)
    observed = found / members - alarms / others
    # The smallest number of members found with which the difference is as large.
    needed = np.ceil(members * (observed + counts / others) * (1 - 1e-12)).astype(np.int64)
    weights = binom.pmf(counts[:, None], others, rates[None, :-1])

    def excluded(noise: float) -> bool:
        powers = _powers(account(plan, noise_multiplier=noise), rates[1:])
        tails = binom.sf(needed[:, None] - 1, members, powers[None, :])
        return float(np.sum(weights * tails, axis=0).max()) + nuisance <= error

    low_noise = high_noise = noise_multiplier
    while excluded(low_noise):
        low_noise /= STEP
        if low_noise < noise_multiplier / FARTHEST:
            return 0.0
    while high_noise <= low_noise or not excluded(high_noise):
        high_noise = max(high_noise, low_noise) * STEP
        if high_noise > noise_multiplier * FARTHEST:
            return math.inf
    while high_noise > low_noise * (1 + ACCURACY):
        middle = math.sqrt(low_noise * high_noise)
        low_noise, high_noise = (low_noise, middle) if excluded(middle) else (middle, high_noise)
    return high_noise


def _powers(guarantee: Guarantee, rates: FloatArray) -> FloatArray:
    """Upper bounds on the true positive rate at each false positive rate."""
    deltas = np.array([guarantee.delta(float(loss)) for loss in LOSSES])
    orders = np.exp(LOSSES)
    above = deltas[:, None] + orders[:, None] * rates
    below = 1 - (1 - deltas[:, None] - rates) / orders[:, None]
    powers: FloatArray = np.minimum(1.0, np.minimum(above.min(axis=0), below.min(axis=0)))
    return powers


def epsilon_of_scores(
    scores: FloatArray, members: NDArray[np.bool_], *, delta: float, confidence: float
) -> float:
    """A lower confidence bound on epsilon, valid whatever the run is.

    The canaries with the largest scores are guessed to be members, those with the smallest not to
    be; `SHARES` of them, each with its part of the error probability.
    """
    order = np.argsort(scores, kind="stable")
    inside = members[order]
    best = 0.0
    for share in SHARES:
        half = max(1, int(share * len(scores) / 2))
        right = int(inside[-half:].sum() + (~inside[:half]).sum())
        bound = epsilon_of_guesses(
            right=right,
            guesses=2 * half,
            canaries=len(scores),
            delta=delta,
            confidence=1 - (1 - confidence) / len(SHARES),
        )
        best = max(best, bound)
    return best


def epsilon_of_guesses(
    *, right: int, guesses: int, canaries: int, delta: float, confidence: float = 0.95
) -> float:
    """A lower confidence bound on epsilon from guesses who was in the data of a single run.

    With W binomial of `guesses` and the probability e^epsilon / (e^epsilon + 1), an (epsilon,
    delta)-private run has `right` or more right guesses with a probability of at most
    P(W >= right) + 2 canaries delta max_i P(right > W >= right - i) / i
    [SteinkeNasrJagielski23, Theorem 5.2]. The bound is the largest epsilon at which that is below
    1 - confidence. Each canary must have been in the data independently with probability 1/2.

    Parameters
    ----------
    right, guesses, canaries
        How many guesses were right, how many were made, and about how many canaries.
    delta
        In [0, 1).
    confidence
        The probability with which the bound holds.

    Returns
    -------
    float
        0 if the guesses prove nothing.

    Examples
    --------
    >>> import hockeystick as hs
    >>> bound = hs.audit.epsilon_of_guesses(right=99, guesses=100, canaries=1000, delta=1e-5)
    >>> round(bound, 2)
    3.0
    """
    from scipy.stats import binom

    error = 1 - confidence
    steps = np.arange(1, right + 1)

    def probability(epsilon: float) -> float:
        chance = 1 / (1 + math.exp(-epsilon))
        tail = float(binom.sf(right - 1, guesses, chance))
        if not right:
            return 1.0
        between = binom.cdf(right - 1, guesses, chance) - binom.cdf(
            right - 1 - steps, guesses, chance
        )
        return tail + 2 * canaries * delta * float((between / steps).max())

    if probability(0.0) > error:
        return 0.0
    low, high = 0.0, LARGEST_EPSILON
    while high - low > 1e-6 * max(1.0, low):
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) <= error else (low, middle)
    return low


def epsilon_of_losses(
    losses: npt.ArrayLike,
    members: npt.ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
) -> float:
    """A lower confidence bound on epsilon from the losses of canaries under the final model.

    The fallback where gradients cannot be seen. Canaries with the smallest losses are guessed to
    have been in the data, those with the largest not to [SteinkeNasrJagielski23]. Each canary must
    have been in the data with probability 1/2, independently of the others; nothing is assumed
    about the run. Usually far below the epsilon of the run.

    Parameters
    ----------
    losses
        One number for each canary; a difference to its loss before training is better.
    members
        For each canary whether it was in the data.
    delta
        In [0, 1).
    confidence
        The probability with which the bound holds.

    Returns
    -------
    float
        0 if the losses show nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> rng = np.random.default_rng(0)
    >>> members = rng.random(1000) < 0.5
    >>> losses = rng.normal(size=1000) - 3 * members
    >>> round(hs.audit.epsilon_of_losses(losses, members, delta=1e-5), 1)
    4.3
    """
    found = np.asarray(losses, dtype=np.float64)
    inside = np.asarray(members)
    if found.ndim != 1 or found.size < 2 or not np.isfinite(found).all():
        raise InvalidParameter("losses", "at least two finite numbers", found.shape)
    if inside.shape != found.shape or inside.dtype != np.bool_:
        raise InvalidParameter("members", f"{found.size} booleans", inside.shape)
    delta = check_.small_probability("delta", delta)
    confidence = check_.small_probability("confidence", confidence)
    return epsilon_of_scores(-found, inside, delta=delta, confidence=confidence)
