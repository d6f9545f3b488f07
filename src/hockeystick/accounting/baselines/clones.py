"""Privacy of shuffled reports, by the number of clones.

[FeldmanMcMillanTalwar23]. Let a and b be the output densities of a report with either of
two inputs, within a factor e^e0 of each other, and r that of another report, within e^e0 of both.
With u = (a - b)+ / (e^e0 - 1) and v = (b - a)+ / (e^e0 - 1),

    a = e^e0 u + v + rest,   b = u + e^e0 v + rest,   r >= u + v,

so every other report looks like u or v with chance p each, where p is the mass of u. An observer of
the shuffled reports is no stronger than one who counts symbols u and v: C ~ Bin(n - 1, 2p) others,
half of them u on average, and the one report on top. Randomized response has no rest and
p = 1/(e^e0 + 1), and every pair within e^e0 is a post-processing of it; so this p covers all.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.special import binomial_above, binomial_masses, binomial_up_to

__all__ = ["clones_delta"]

# Numbers of clones this many standard deviations away are charged in full.
DEVIATIONS = 14.0


def clones_delta(reports: int, local_epsilon: float, epsilon: float) -> float:
    """H at e^epsilon of shuffled reports that are local_epsilon-DP; the pair is symmetric.

    Of m = C + 1 symbols x are u; the likelihood ratio (e^e0 x + m - x) / (x + e^e0 (m - x)) rises
    with x, so delta is a difference of two binomial tails for each C. O(sqrt(reports)) of them
    count.
    """
    if epsilon >= local_epsilon:
        return 0.0
    share = 2 / (math.exp(local_epsilon) + 1)
    mean = (reports - 1) * share
    reach = DEVIATIONS * math.sqrt(mean * (1 - share)) + DEVIATIONS**2
    low, high = max(0, math.floor(mean - reach)), min(reports - 1, math.ceil(mean + reach))
    clones = np.arange(low, high + 1)
    masses = binomial_masses(clones, reports - 1, share)
    true, gamma = 1 / (1 + math.exp(-local_epsilon)), math.exp(epsilon)
    ratio = (gamma - math.exp(-local_epsilon)) / (-math.expm1(-local_epsilon) * (gamma + 1))
    first = np.floor((clones + 1) * ratio) + 1
    one_less, as_many = binomial_above(first - 2, clones), binomial_above(first - 1, clones)
    p = true * one_less + (1 - true) * as_many
    q = (1 - true) * one_less + true * as_many
    missed = binomial_above(high, reports - 1, share)
    if low > 0:
        missed += binomial_up_to(low - 1, reports - 1, share)
    return float(masses @ np.maximum(p - gamma * q, 0.0) + missed)
