"""log(1 - r + r e^l) and its inverse, against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hockeystick._numerics.mixed_ratio import (
    argument_growth,
    mixed_loss,
    mixed_losses,
    rate_of_counts,
    rounded_up,
    unmixed_loss,
)
from in_one_test import in_one_test

RATES = [1e-300, 1e-17, 1e-3, 0.3, 0.5, 0.7, 0.999, 1 - 1e-9, 1 - 1e-15, 1 - 2.0**-53]
SIZES = [1e-300, 1e-17, 1e-5, 0.1, 0.69, 0.7, 5.0, 29.9, 30.1, 36.0, 40.0, 600.0, 720.0, 1e5]
LOSSES = sorted([-x for x in SIZES] + SIZES)


def exact(rate, loss):
    """With enough digits for differences of tiny numbers."""
    return mp.log(1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(mp.mpf(loss)))


@in_one_test
@pytest.mark.parametrize("rate", RATES)
def test_mixed_losses(rate):
    """Full relative accuracy; where r e^l is formed in the exponent, up to log(1/r) as much."""
    with mp.workdps(700):
        for loss, found in zip(LOSSES, mixed_losses(rate, np.array(LOSSES)), strict=True):
            true = exact(rate, loss)
            allowed = 1e-15 if loss <= 30 else 1e-15 * argument_growth(rate)
            assert abs(found - true) <= allowed * abs(true) + mp.mpf(5e-324)
    assert mixed_loss(rate, -math.inf) == pytest.approx(math.log1p(-rate), rel=1e-15)
    assert mixed_loss(rate, math.inf) == math.inf


@in_one_test
@pytest.mark.parametrize("rate", RATES)
def test_unmixed_losses(rate):
    """What is lost is less than what a relative change of 1e-15 of the argument makes."""
    with mp.workdps(700):
        for loss in LOSSES:
            ends = []
            for sign in (-1, 1):
                moved = mp.mpf(loss) * (1 + sign * mp.mpf(1e-15) * argument_growth(rate))
                level = (mp.exp(moved) - 1 + mp.mpf(rate)) / mp.mpf(rate)
                ends.append(mp.log(level) if level > 0 else mp.mpf("-inf"))
            assert min(ends) <= unmixed_loss(rate, loss) <= max(ends)


def test_shares_are_rounded_up():
    """Never below the quotient of the counts, and exact where that is a number."""
    assert (rate_of_counts(3, 4), rate_of_counts(7, 7)) == (0.75, 1.0)
    for part, whole in [(1, 3), (2, 3), (999, 1000), (10**6 - 1, 10**6), (1, 10**9)]:
        found = rate_of_counts(part, whole)
        assert Fraction(part, whole) <= Fraction(found) <= Fraction(part, whole) + math.ulp(found)
    assert rounded_up(1 - 2.0**-53) == 1.0
    assert 0.3 < rounded_up(0.3) <= 0.3 * (1 + 1e-15)
