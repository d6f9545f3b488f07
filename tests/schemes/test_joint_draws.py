"""Several examples of a user that are drawn independently, against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import hockeystick as hs
from hockeystick.profile.expressions.sampled import Subsampled
from hockeystick.schemes.pairs import several_sampled
from in_one_test import in_one_test

STEP = hs.Profile.gaussian(noise_multiplier=0.7)


def exact_weights(rate, copies, tries):
    """P(the largest of several binomial counts is j), for j = 0, .., copies."""
    p = Fraction(rate)
    masses = [math.comb(copies, j) * p**j * (1 - p) ** (copies - j) for j in range(copies + 1)]
    below = [sum(masses[:j], Fraction(0)) ** tries for j in range(copies + 2)]
    return [below[j + 1] - below[j] for j in range(copies + 1)]


@in_one_test
@pytest.mark.parametrize("tries", [1, 2, 3])
@pytest.mark.parametrize("copies", [2, 3, 5])
@pytest.mark.parametrize("rate", [1e-12, 1e-3, 0.4, 0.9, 1 - 1e-5, 1 - 1e-9, 1 - 2.0**-53])
def test_weights_keep_their_digits(rate, copies, tries):
    """Also those of small counts at a rate near 1, and of large ones at a small rate."""
    pair = several_sampled(STEP, rate=rate, copies=copies, tries=tries).expression
    none, *some = exact_weights(rate, copies, tries)
    reached = pair.rate if isinstance(pair, Subsampled) else 1.0
    assert none - Fraction(6e-16) <= 1 - Fraction(reached) <= none
    inner = pair.child if isinstance(pair, Subsampled) else pair
    for weight, true in zip(inner.weights, some, strict=True):
        assert weight == pytest.approx(float(true / (1 - none)), rel=1e-13, abs=0.0)
