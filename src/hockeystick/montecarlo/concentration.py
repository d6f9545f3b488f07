"""How far a mean of independent draws in [0, 1] may be from its expectation.

Chernoff's bound in its relative-entropy form holds for every variable in [0, 1], not only for
Bernoulli ones: Pr[mean of s draws <= a] <= e^(-s KL(a || m)) for an expectation m >= a, and
likewise above.
"""

from __future__ import annotations

import math

from hockeystick._numerics.search import bracket

__all__ = ["draws_to_tell", "interval", "relative_entropy", "upper_edge"]


def relative_entropy(a: float, b: float) -> float:
    """KL of two Bernoulli variables, accurate also where they are close or rare."""
    if not 0 < b < 1:
        return 0.0 if a == b else math.inf
    # a log(a/b) + b - a and its counterpart are both non-negative.
    return _entropy_term(a, b) + _entropy_term(1 - a, 1 - b)


def _entropy_term(a: float, b: float) -> float:
    if a == 0:
        return b
    excess = (a - b) / b
    if abs(excess) < 1e-4:
        return b * excess * excess / 2 * (1 - excess / 3)
    return a * math.log(a / b) + b - a


def upper_edge(mean: float, exponent: float) -> float:
    """An upper bound on an expectation that misses it with probability e^-exponent.

    `exponent` is per draw: log(1/probability) over the number of draws.
    """
    return bracket(lambda edge: relative_entropy(mean, edge) > exponent, mean, 1.0)[1]


def interval(mean: float, *, draws: int, miss: float) -> tuple[float, float]:
    """An interval around a mean of draws that misses the expectation with probability `miss`."""
    exponent = math.log(2 / miss) / draws
    return 1 - upper_edge(1 - mean, exponent), upper_edge(mean, exponent)


def draws_to_tell(threshold: float, expectation: float, *, miss: float) -> float:
    """How many draws a mean needs to be below `threshold` with probability at most `miss`.

    For an expectation of at least `expectation` > threshold; infinite if it is not above it. By
    Chernoff's bound, e^(-draws KL(threshold || expectation)) <= miss. It takes the place of the
    failure bound in [DongGanesh26, Section 2.5] (docs/errata.md).
    """
    if not threshold < expectation:
        return math.inf
    return math.log(1 / miss) / relative_entropy(threshold, expectation)
