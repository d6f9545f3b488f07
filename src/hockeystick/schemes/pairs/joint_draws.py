"""One step in which several examples of a user are drawn independently.

Their clipped gradients add up, at worst in one direction, so j of them shift the output by j clip
norms: P is a binomial mixture of N(j, s^2) and Q is N(0, s^2).
"""

from __future__ import annotations

import math
from itertools import accumulate

from hockeystick._numerics.mixed_ratio import rounded_up
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import random_shift

__all__ = ["SHARED_EXAMPLES", "needs_gaussian", "several_drawn", "too_many_steps"]

# What goes through the steps one by one takes some seconds for so many.
MOST_STEPS = 10_000_000

# The objection to amplification where others' participation depends on a user's coins.
SHARED_EXAMPLES = (
    "examples that several users share reveal their draws through other users' batches, so that "
    "nothing is amplified"
)


def needs_gaussian(plan: Plan) -> str | None:
    """The objection to a mechanism of which only one participation is known."""
    return None if plan.mechanism is None else "it needs the Gaussian mechanism"


def too_many_steps(plan: Plan) -> str | None:
    """The objection of analyses that go through the steps one by one."""
    if plan.steps <= MOST_STEPS:
        return None
    return f"it goes through the steps one by one, of which there may be at most {MOST_STEPS:,}"


def several_drawn(step: Profile, *, rate: float, copies: int, throws: int = 1) -> Profile:
    """The pair of a step with `copies` independent coins; `step` is what a single example does.

    With several `throws` of all coins, the one with most heads counts. As the pair given that some
    coin shows heads, subsampled at the probability of that: the likelihood ratio is then near 1 in
    closed form, and not as a difference of large masses.
    """
    if rate == 1:
        return step if copies == 1 else _shifted(step, [copies], [1.0])
    taking_part = rounded_up(-math.expm1(copies * throws * math.log1p(-rate)))
    if copies == 1:
        return step.subsample(rate if throws == 1 else taking_part)
    weights = _most_heads(rate, copies, throws)
    return _shifted(step, list(range(1, copies + 1)), weights).subsample(taking_part)


def _most_heads(rate: float, copies: int, throws: int) -> list[float]:
    """The probabilities that the throw with most heads has 1, .., `copies` of them.

    With B = P(at most j heads) and h = P(j heads), B^throws - (B - h)^throws without a difference:
    tiny ones count too, since the smallest likelihood ratios are made of them.
    """
    heads = [_chance(j, rate, copies) for j in range(copies + 1)]
    weights = []
    for at_most, head in list(zip(accumulate(heads), heads, strict=True))[1:]:
        ratio = head / at_most if head > 0 else 0.0
        missed = -math.expm1(throws * math.log1p(-ratio)) if ratio < 1 else 1.0
        weights.append(min(at_most, 1.0) ** throws * missed)
    return weights


def _chance(heads: int, rate: float, coins: int) -> float:
    """Binomial."""
    log_ways = math.log(math.comb(coins, heads))
    return math.exp(log_ways + heads * math.log(rate) + (coins - heads) * math.log1p(-rate))


def _shifted(step: Profile, counts: list[int], weights: list[float]) -> Profile:
    """The step's shift times a random count."""
    one = step.expression.order()
    return Profile(random_shift([count * one for count in counts], weights))
