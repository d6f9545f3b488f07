"""The law of how often an example takes part, against all patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick.analyses.known_participation.counts import common_copies, count_law
from hockeystick.schemes.capabilities import Participant
from hockeystick.schemes.simulation.participation_laws import binomial_weights
from in_one_test import in_one_test
from references.participation_patterns import min_sep_patterns, user_patterns

EPSILONS = (0.0, 0.3, 1.0, 4.0)


def law_of(patterns):
    """The law of the sum of squares, as a dictionary."""
    found = {}
    for chance, counts in patterns:
        total = sum(count**2 for count in counts)
        found[total] = found.get(total, 0.0) + chance
    return found


def assert_same_law(participant, patterns):
    """Whether values and probabilities agree, relatively."""
    expected = law_of(patterns)
    found = dict(
        zip(*(array.tolist() for array in count_law(participant, operations=1e9)), strict=True)
    )
    large = {value: chance for value, chance in found.items() if chance > 1e-250}
    assert large == pytest.approx({float(v): c for v, c in expected.items()}, rel=1e-12)
    assert math.fsum(found.values()) == pytest.approx(1.0, rel=1e-12)


@in_one_test
@pytest.mark.parametrize("separation", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("steps", [1, 4, 8])
def test_law_of_an_example(separation, warm, steps):
    """Every sequence of draws of `MinSep`."""
    each = 0.3 / (1 + (separation - 1) * 0.3) if warm else 0.0
    starts = (1 - (separation - 1) * each, *[each] * (separation - 1))
    participant = Participant((0.7, 0.3), separation, steps, starts=starts)
    assert_same_law(
        participant, min_sep_patterns(steps, rate=0.3, separation=separation, warm=warm)
    )


@in_one_test
@pytest.mark.parametrize("separation", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("warm_up", [0, 1, 3])
@pytest.mark.parametrize(("steps", "held"), [(1, 3), (6, 2), (8, 1), (4, 3)])
def test_law_of_a_user(separation, warm_up, steps, held):
    """Every sequence of draws of Algorithm 3: draws while excluded start the exclusion anew."""
    copies = tuple(binomial_weights(held, 0.2).tolist())
    size = {"rate": 0.2, "separation": separation, "examples": held, "warm_up": warm_up}
    assert_same_law(Participant(copies, separation, steps, warm_up), user_patterns(steps, **size))


@pytest.mark.parametrize("draws_exclude", [True, False])
def test_a_short_table_rounds_upwards(draws_exclude):
    """What does not fit counts as the largest value: larger, and still a probability law."""
    copies = tuple(binomial_weights(2, 0.3).tolist())
    starts = None if draws_exclude else (1.0, 0.0, 0.0)
    participant = Participant(copies, 3, 41, starts=starts)
    full = count_law(participant, operations=1e9)
    short = count_law(participant, operations=4 * 41 * 6)
    assert short.values.size < 8 < full.values.size
    assert short.weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert short.values[-1] == 4 * 14
    for value in range(1, 56):
        above = [law.weights[law.values >= value].sum() for law in (short, full)]
        assert above[0] >= above[1] * (1 - 1e-12)


def test_rare_numbers_of_copies_round_upwards():
    """They count as all of them; what is common keeps its probability."""
    copies = tuple(binomial_weights(20, 1e-6).tolist())
    participant = Participant(copies, 3, 100)
    common = common_copies(participant)
    kept = np.count_nonzero(common[:-1])
    assert 3 < kept < 12
    assert common[:kept] == pytest.approx(copies[:kept], rel=1e-15)
    assert common[-1] == pytest.approx(sum(copies[kept:]), rel=1e-12)
    assert 0 < common[-1] < 1e-33
