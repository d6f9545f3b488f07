"""Participations of several examples of one user at once."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["binomial_weights", "copy_log_terms", "copy_terms", "log_or_minus_infinity"]


def binomial_weights(held: int, rate: float) -> FloatArray:
    """The probabilities of 0, 1, ..., `held` of a user's examples being drawn in a step."""
    return np.array(
        [math.comb(held, j) * rate**j * (1 - rate) ** (held - j) for j in range(held + 1)]
    )


def copy_terms(factors: FloatArray, copies: FloatArray, half: FloatArray) -> FloatArray:
    """The expected likelihood ratio of one or more copies in each step, times their probability.

    j copies have the likelihood ratio e^(j u - j^2 h), and the factors are e^(u - h).
    """
    terms = np.zeros_like(factors)
    power = np.ones_like(factors)
    for j in range(1, copies.size):
        power *= factors
        terms += power * (copies[j] * np.exp(-j * (j - 1) * half))
    return terms


def copy_log_terms(exponents: FloatArray, copies: FloatArray, half: FloatArray) -> FloatArray:
    """The logarithms of `copy_terms`, from u - h."""
    terms = np.full_like(exponents, -np.inf)
    for j in range(1, copies.size):
        each = log_or_minus_infinity(copies[j]) + j * exponents - j * (j - 1) * half
        np.logaddexp(terms, each, out=terms)
    return terms


def log_or_minus_infinity(value: float) -> float:
    """log, also of 0."""
    return math.log(value) if value > 0 else -math.inf
