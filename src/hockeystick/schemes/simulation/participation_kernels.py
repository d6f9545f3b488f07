"""Likelihood ratios of runs with random participation, by dynamic programming over the steps.

Every recursion takes the row `terms`. Entry i, times `scale` where there is one, is the probability
that an eligible example or user takes part in step i, times the likelihood ratio of that; for users
the sum of this over the numbers of their examples. `miss` or `none` is the probability that it does
not. A participation of j examples in step i has the likelihood ratio e^(j u_i - j^2 h_i), where u_i
is the inner product of the outputs with column i over the variance and h_i half the column's
squared length over the variance.

Plain recursions lose nothing to underflow while staying out of every step has a probability that is
far from underflowing itself, and what overflows is not finite in the end; other rows take the
logarithmic ones.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = [
    "cyclic_logs",
    "cyclic_ratios",
    "min_sep_eligible",
    "min_sep_logs",
    "min_sep_ratios",
    "min_sep_values",
    "user_logs",
    "user_ratios",
]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def min_sep_ratios(
    terms: FloatArray, scale: float, miss: float, starts: FloatArray, out: FloatArray
) -> None:
    """[DongGanesh26, equation (2)]: f_i = miss f_(i+1) + scale terms_i f_(i+b), f = 1 at the end.

    `starts` are the probabilities of being eligible from step 0, 1, ..., b - 1 on. O(steps) for a
    row.
    """
    steps, separation = terms.shape[1], starts.size
    f = np.ones(steps + separation)
    here, later = f[:steps], f[separation:]
    for d in range(out.size):
        row = terms[d]
        value = 1.0
        for i in range(steps - 1, -1, -1):
            value = miss * value + scale * row[i] * later[i]
            here[i] = value
        total = 0.0
        for s in range(separation):
            total += starts[s] * f[s]
        out[d] = math.log(total)


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc"})
def user_ratios(terms: FloatArray, none: float, ages: FloatArray, out: FloatArray) -> None:
    """[DongGanesh26, Algorithm 3]: a draw while excluded starts the exclusion anew.

    It replaces the printed recursion of [DongGanesh26, Theorem 6.1], which belongs to another
    process (docs/errata.md).
    A_i is the ratio of what follows for a user who is eligible in step i, R_i for one who was drawn
    in step i - 1: with q = `none`, the probability of drawing nothing, A_i = q A_(i+1) + terms_i
    R_(i+1) and R_i = sum over s < b - 1 of q^s (1 - q) R_(i+s+1) + q^(b-1) A_(i+b-1). `ages` are
    the probabilities of the last draw having been a + 1 steps before the start, the last one of
    being eligible. O(steps * b) for a row.
    """
    steps, separation = terms.shape[1], ages.size
    wait = separation - 1
    eligible, excluded = np.ones(steps + separation + 1), np.ones(steps + separation + 1)
    survives = none ** np.arange(separation)
    weights = survives[:wait] * (1 - none)
    for d in range(out.size):
        row = terms[d]
        for i in range(steps - 1, -1, -1):
            drawn = excluded[i + 1 : i + 1 + wait]
            total = survives[wait] * eligible[i + wait] if wait > 0 else 0.0
            for s in range(wait):
                total += weights[s] * drawn[s]
            eligible[i] = none * eligible[i + 1] + row[i] * excluded[i + 1]
            excluded[i] = total if wait > 0 else eligible[i]
        total = ages[wait] * eligible[0]
        for a in range(wait):
            left = wait - a
            part = survives[left] * eligible[left]
            for s in range(left):
                part += weights[s] * excluded[s + 1]
            total += ages[a] * part
        out[d] = math.log(total)


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def cyclic_ratios(terms: FloatArray, rate: float, groups: int, out: FloatArray) -> None:
    """The average over the groups of the product over their steps of 1 - p + terms_i."""
    steps = terms.shape[1]
    products = np.empty(groups)
    for d in range(out.size):
        products[:] = 1.0
        row = terms[d]
        group = 0
        for i in range(steps):
            products[group] *= 1 - rate + row[i]
            group = group + 1 if group + 1 < groups else 0
        out[d] = math.log(products.mean())


@njit(cache=True, nogil=True)
def _log_add(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


@njit(cache=True, nogil=True)
def min_sep_eligible(rate: float, starts: FloatArray, steps: int) -> FloatArray:
    """The probability of being eligible in each step, by the renewal equation."""
    separation = starts.size
    eligible = np.zeros(steps)
    for i in range(steps):
        if i < separation:
            eligible[i] += starts[i]
        if i > 0:
            eligible[i] += (1 - rate) * eligible[i - 1]
        if i >= separation:
            eligible[i] += rate * eligible[i - separation]
    return eligible


@njit(cache=True, nogil=True)
def min_sep_values(terms: FloatArray, log_miss: float, separation: int) -> FloatArray:
    """log f_i of `min_sep_ratios` for every step, from the logarithms of one row of terms."""
    f = np.zeros(terms.size + separation)
    for i in range(terms.size - 1, -1, -1):
        f[i] = _log_add(log_miss + f[i + 1], terms[i] + f[i + separation])
    return f


@njit(cache=True, nogil=True)
def min_sep_logs(
    terms: FloatArray, log_miss: float, log_starts: FloatArray, out: FloatArray
) -> None:
    """As `min_sep_ratios`, from the logarithms of the terms."""
    separation = log_starts.size
    for d in range(out.size):
        f = min_sep_values(terms[d], log_miss, separation)
        total = -math.inf
        for s in range(separation):
            total = _log_add(total, log_starts[s] + f[s])
        out[d] = total


@njit(cache=True, nogil=True)
def user_logs(
    terms: FloatArray, log_none: float, log_some: float, log_ages: FloatArray, out: FloatArray
) -> None:
    """As `user_ratios`, from the logarithms of the terms."""
    steps, separation = terms.shape[1], log_ages.size
    wait = separation - 1
    eligible, excluded = np.zeros(steps + separation + 1), np.zeros(steps + separation + 1)
    for d in range(out.size):
        for i in range(steps - 1, -1, -1):
            total = wait * log_none + eligible[i + wait] if wait > 0 else 0.0
            for s in range(wait):
                drawn = log_some + excluded[i + 1 + s]
                total = _log_add(total, drawn if s == 0 else s * log_none + drawn)
            eligible[i] = _log_add(log_none + eligible[i + 1], terms[d, i] + excluded[i + 1])
            excluded[i] = total if wait > 0 else eligible[i]
        total = log_ages[wait] + eligible[0]
        for a in range(wait):
            left = wait - a
            part = left * log_none + eligible[left]
            for s in range(left):
                drawn = log_some + excluded[s + 1]
                part = _log_add(part, drawn if s == 0 else s * log_none + drawn)
            total = _log_add(total, log_ages[a] + part)
        out[d] = total


@njit(cache=True, nogil=True)
def cyclic_logs(terms: FloatArray, log_miss: float, groups: int, out: FloatArray) -> None:
    """As `cyclic_ratios`, from the logarithms of the terms."""
    steps = terms.shape[1]
    products = np.empty(groups)
    for d in range(out.size):
        products[:] = 0.0
        for i in range(steps):
            products[i % groups] += _log_add(log_miss, terms[d, i])
        total = -math.inf
        for group in range(groups):
            total = _log_add(total, products[group])
        out[d] = total - math.log(groups)
