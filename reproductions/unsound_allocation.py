"""The sampling-free paper's rule for failure probabilities, which is UNSOUND: for pictures only.

Conditional composition needs that in no step, but for a bad event, the posterior odds of a bin pass
a threshold. Appendix E of the paper computes a tail bound for every step of an epoch, each with the
failure probability beta, takes the worst threshold for the whole epoch, and counts beta once. But
the steps look at different bins, so their failures are different events, and their probabilities
add up. Nothing here yields a `Guarantee`. The library takes thresholds for which the tail bounds of
all steps and bins add up to beta (analyses/conditional/bound.py).

Two readings. `unsound_charged_once` has the bounds of one step add up to beta; bins with equal
levels need no bound against each other, so DP-SGD has one bound in each step. `unsound_as_printed`
gives beta/(b - 1) to each bound, as the paper does for its b - 1 components. For DP-SGD that
happens to pay for the b steps of an epoch; with correlated noise, where several of the components
matter, it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.analyses.conditional.posterior_tails import Tails, posterior_tails
from hockeystick.profile.resolution import Direction

__all__ = [
    "Rule",
    "largest_share",
    "probability_of_bad_event",
    "summed",
    "unsound_as_printed",
    "unsound_charged_once",
    "unsound_epsilon",
]

SMALLEST_SHARE = 1e-12

# Tails of one epoch, its probability of failure and the number of bins -> for each number of bins
# below a rival, the y with which X > y |B| is claimed in every step of the epoch.
Rule = Callable[[Tails, float, int], FloatArray]


def largest_share(tails: Tails, failure: float) -> float:
    """The largest y in (0, 1] at which all bounds together are at most `failure`: sound."""
    if tails.failure(1.0) <= failure:
        return 1.0
    found = bracket(
        lambda y: tails.failure(math.exp(y)) <= failure,
        0.0,
        math.log(SMALLEST_SHARE),
        tolerance=1e-5,
    )
    return math.exp(found[1])


def summed(tails: Tails, failure: float, bins: int) -> FloatArray:
    """Sound: one y for the epoch, for which the bounds of all its steps add up to `failure`."""
    return np.full(bins, largest_share(tails, failure))


def unsound_charged_once(tails: Tails, failure: float, bins: int) -> FloatArray:
    """UNSOUND: the smallest y of any step, each step by itself with the whole of `failure`."""
    steps = np.unique(tails.step).tolist()
    shares = (largest_share(tails.between(n, n + 1), failure) for n in steps)
    return np.full(bins, min(shares, default=1.0))


def unsound_as_printed(tails: Tails, failure: float, bins: int) -> FloatArray:
    """UNSOUND: the smallest y of any step for each rank, each bound with failure/(bins - 1)."""
    shares = np.ones(bins)
    for i in range(tails.step.size):
        one = Tails(*(field[i : i + 1] for field in tails[:-1]), own_weight=tails.own_weight)
        rank = int(tails.below[i])
        shares[rank] = min(shares[rank], largest_share(one, failure / (bins - 1)))
    return shares


def probability_of_bad_event(
    levels: FloatArray, rules: dict[str, Rule], *, failure: float, draws: int, quantile: float
) -> dict[str, float]:
    """How often the odds pass the thresholds of the last epoch, simulated with the example.

    `failure` is what a rule may spend on that epoch. `levels` are in units of the noise.
    """
    steps, bins = levels.shape
    tails = posterior_tails(levels, present=True, quantile=quantile).between(steps - bins, steps)
    shares = {name: rule(tails, failure, bins) for name, rule in rules.items()}
    bad = {name: np.zeros(draws, dtype=bool) for name in rules}
    rng = np.random.default_rng(5)
    member = rng.integers(bins, size=draws)
    log_likelihood = np.zeros((draws, bins))
    for n, a in enumerate(levels):
        if n >= steps - bins:
            below = a[None, :] < a[:, None]
            rivals, count = below.any(axis=1), below.sum(axis=1)
            p = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
            odds = p @ below[rivals].T / p[:, rivals] / count[rivals]
            for name in rules:
                bad[name] |= (odds <= shares[name][count[rivals]]).any(axis=1)
        x = a[member] + rng.standard_normal(draws)
        log_likelihood += x[:, None] * a - a**2 / 2
    return {name: float(seen.mean()) for name, seen in bad.items()}


class _UnsoundBound(ConditionalBound):
    """The library's composition with thresholds that do not hold."""

    def thresholds(self, direction: Direction, failure: float) -> FloatArray:
        """The first epoch as in the library, later ones by `unsound_charged_once`."""
        steps, bins = self.levels.shape
        found = super().thresholds(direction, failure)
        tails = posterior_tails(self.levels, present=direction == "remove", quantile=5.5)
        for i, segment in enumerate(self.segments):
            if segment.first >= bins:
                epoch = tails.between(*segment)
                found[i] = unsound_charged_once(epoch, failure * bins / steps, bins)
        return found


def unsound_epsilon(levels: FloatArray, *, delta: float, accuracy: float = 0.01) -> float:
    """What the unsound rule would claim for epsilon(delta), half of delta for the bad event."""
    bound = _UnsoundBound(lambda: levels)
    return max(bound.epsilon_at(delta / 2, delta, d, accuracy) for d in ("remove", "add"))
