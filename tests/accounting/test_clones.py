"""The clones bound against sums over all outcomes."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from hockeystick.accounting.baselines import clones_delta
from in_one_test import in_one_test


def by_enumeration(reports, local, epsilon):
    """Counts of both symbols, one report on top, summed over everything."""
    share, true = 2 / (math.exp(local) + 1), math.exp(local) / (math.exp(local) + 1)
    total = 0.0
    for clones in range(reports):
        weight = binom.pmf(clones, reports - 1, share)
        for x in range(clones + 2):
            more, same = binom.pmf(x - 1, clones, 0.5), binom.pmf(x, clones, 0.5)
            p, q = true * more + (1 - true) * same, (1 - true) * more + true * same
            total += weight * max(p - math.exp(epsilon) * q, 0.0)
    return total


@in_one_test
@pytest.mark.parametrize("reports", [1, 2, 5, 40])
@pytest.mark.parametrize("local", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_equal_to_the_enumeration(reports, local, share):
    """Every number of clones and every count."""
    expected = by_enumeration(reports, local, share * local)
    assert clones_delta(reports, local, share * local) == pytest.approx(expected, rel=1e-9)


def test_a_single_report_is_randomized_response():
    """Nobody to hide among."""
    expected = (math.exp(1.0) - math.exp(0.4)) / (math.exp(1.0) + 1)
    assert clones_delta(1, 1.0, 0.4) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("local", [0.5, 2.0])
def test_more_reports_hide_better(local):
    """Delta falls with the number of reports, and nothing exceeds the local epsilon."""
    values = [clones_delta(n, local, 0.1) for n in (10, 100, 1000, 10_000)]
    assert values == sorted(values, reverse=True)
    assert clones_delta(10, local, local) == 0.0


def test_shuffled_binary_responses_are_covered():
    """The sum of shuffled randomized responses is exactly a pair that the bound dominates."""
    n, local, epsilon = 30, 1.2, 0.15
    lie = 1 / (math.exp(local) + 1)
    # The others all hold 0; the one report holds 1 or 0. An observer sees the number of ones.
    others = [binom.pmf(k, n - 1, lie) for k in range(n + 1)]

    def one_more(chance):
        return [
            (1 - chance) * others[k] + chance * (others[k - 1] if k else 0.0) for k in range(n + 1)
        ]

    for chances in ((1 - lie, lie), (lie, 1 - lie)):
        p, q = map(one_more, chances)
        exact = sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(p, q, strict=True))
        assert exact <= clones_delta(n, local, epsilon) * (1 + 1e-9)
