"""Recursions over participations, plain and in logarithms, and the trajectories they average."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick.schemes.simulation.draw_kernels import (
    cyclic_trajectories,
    min_sep_trajectories,
    user_trajectories,
)
from hockeystick.schemes.simulation.participation_kernels import (
    cyclic_logs,
    cyclic_ratios,
    min_sep_eligible,
    min_sep_logs,
    min_sep_ratios,
    min_sep_values,
    user_logs,
    user_ratios,
)

ROWS, STEPS = 20, 200
LOG_TERMS = np.random.default_rng(6).normal(-3.5, 1.5, (ROWS, STEPS))


def logs_of(values):
    """log, also of 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)


@pytest.mark.parametrize("starts", [[1.0], [1.0, 0.0, 0.0], [0.4, 0.2, 0.1, 0.3]])
def test_resting_in_logarithms(starts):
    """The same over a long row, with other chances of starting late."""
    starts, miss = np.array(starts), 0.95
    plain, logs = np.empty((2, ROWS))
    min_sep_ratios(np.exp(LOG_TERMS), 1.0, miss, starts, plain)
    min_sep_logs(LOG_TERMS, math.log(miss), logs_of(starts), logs)
    np.testing.assert_allclose(plain, logs, rtol=1e-11)


@pytest.mark.parametrize("ages", [[1.0], [0.0, 0.0, 1.0], [0.2, 0.15, 0.1, 0.55]])
def test_users_in_logarithms(ages):
    """Also where nobody is excluded and where the last draw was before the start."""
    ages, none = np.array(ages), 0.93
    plain, logs = np.empty((2, ROWS))
    user_ratios(np.exp(LOG_TERMS), none, ages, plain)
    user_logs(LOG_TERMS, math.log(none), math.log1p(-none), logs_of(ages), logs)
    np.testing.assert_allclose(plain, logs, rtol=1e-11)


@pytest.mark.parametrize("groups", [1, 7, 300])
def test_cyclic_in_logarithms(groups):
    """Also with groups beyond the end of the run."""
    rate = 0.2
    plain, logs = np.empty((2, ROWS))
    cyclic_ratios(rate * np.exp(LOG_TERMS), rate, groups, plain)
    cyclic_logs(LOG_TERMS + math.log(rate), math.log1p(-rate), groups, logs)
    np.testing.assert_allclose(plain, logs, rtol=1e-11)


def test_ratios_of_one_average_to_one():
    """Terms that are probabilities: every recursion sums the probabilities of all ways."""
    found = np.empty((3, 2))
    min_sep_ratios(np.full((2, 50), 0.3), 1.0, 0.7, np.array([0.5, 0.25, 0.25]), found[0])
    user_ratios(np.full((2, 50), 0.3), 0.7, np.array([0.21, 0.3, 0.49]), found[1])
    cyclic_ratios(np.full((2, 50), 0.3), 0.3, 4, found[2])
    np.testing.assert_allclose(found, 0.0, atol=1e-13)


@pytest.mark.parametrize("level", [-800.0, 800.0])
def test_logarithms_beyond_floating_point(level):
    """One step: log(miss + e^term) where e^term is 0 or infinite."""
    terms = np.full((1, 1), level)
    found = np.empty(1)
    expected = math.log(0.5) if level < 0 else level
    min_sep_logs(terms, math.log(0.5), np.array([0.0, -math.inf]), found)
    assert found[0] == pytest.approx(expected, rel=1e-14)
    user_logs(terms, math.log(0.5), math.log(0.5), np.array([-math.inf, 0.0]), found)
    assert found[0] == pytest.approx(expected, rel=1e-14)
    cyclic_logs(terms, math.log(0.5), 1, found)
    assert found[0] == pytest.approx(expected, rel=1e-14)


def test_certain_draws():
    """A rate of 1 leaves no chance to stay out, in logarithms too."""
    found = np.empty(1)
    terms = np.array([[0.3, 0.4, 0.5, 0.6]])
    min_sep_logs(terms, -math.inf, np.array([0.0, -math.inf]), found)
    assert found[0] == pytest.approx(0.3 + 0.5, rel=1e-14)
    # Algorithm 3 with certain draws: the first step, and never again.
    user_logs(terms, -math.inf, 0.0, np.array([-math.inf, 0.0]), found)
    assert found[0] == pytest.approx(0.3, rel=1e-14)
    cyclic_logs(terms, -math.inf, 2, found)
    assert found[0] == pytest.approx(np.logaddexp(0.8, 1.0) - math.log(2), rel=1e-14)


def test_values_of_every_step():
    """The recursion from every step on is that of the shorter row."""
    row = LOG_TERMS[0, :12]
    values = min_sep_values(row, math.log(0.9), 3)
    for first in range(12):
        expected = np.empty(1)
        min_sep_logs(row[None, first:], math.log(0.9), logs_of([1.0, 0.0, 0.0]), expected)
        assert values[first] == pytest.approx(expected[0], rel=1e-12)


def test_occupation_is_stationary_from_a_warm_start():
    """The same probability of being free in every step; from a cold start it settles there."""
    rate, separation = 0.2, 4
    stationary = 1 / (1 + (separation - 1) * rate)
    warm = np.array([stationary, *[rate * stationary] * (separation - 1)])
    np.testing.assert_allclose(min_sep_eligible(rate, warm, 50), stationary, rtol=1e-13)
    cold = min_sep_eligible(rate, np.array([1.0, 0.0, 0.0, 0.0]), 400)
    assert cold[0] == 1
    assert cold[-1] == pytest.approx(stationary, rel=1e-9)


def test_frequencies_of_weighted_steps():
    """Steps with chances of their own, among them 0 and 1, as a proposal has them."""
    chances, draws = np.array([0.2, 0.0, 0.9, 0.05, 1.0, 0.3]), 40_000
    where = np.zeros((draws, 3), dtype=np.int64)
    number = np.zeros(draws, dtype=np.int64)
    min_sep_trajectories(np.random.default_rng(1), chances, np.cumsum([0.7, 0.3]), where, number)
    joined = np.zeros(6)
    for entry in range(3):
        joined += np.bincount(where[number > entry, entry], minlength=6)
    free = np.zeros(8)
    free[0], free[1] = 0.7, 0.3
    for i in range(6):
        free[i + 1] += free[i] * (1 - chances[i])
        free[i + 2] += free[i] * chances[i]
    expected = free[:6] * chances
    error = np.sqrt(expected * (1 - expected) / draws)
    assert np.all(np.abs(joined / draws - expected) <= 4.5 * error + 1e-15)


@pytest.mark.parametrize("rate", [0.05, 0.6, 1.0])
def test_separation_is_kept(rate):
    """Participations of one row are in order, inside the run and far enough apart."""
    draws, steps, separation = 500, 60, 5
    rng = np.random.default_rng(3)
    found = []
    for kind in range(3):
        where = np.full((draws, -(-steps // separation)), -1, dtype=np.int64)
        times, number = np.ones_like(where), np.zeros(draws, dtype=np.int64)
        if kind == 0:
            starts = np.cumsum([0.5, 0.5 / 4, 0.5 / 4, 0.5 / 4, 0.5 / 4])
            min_sep_trajectories(rng, np.full(steps, rate), starts, where, number)
        elif kind == 1:
            ages = np.cumsum([0.1, 0.1, 0.1, 0.1, 0.6])
            copies = np.array([1 - rate, 0.75 * rate, 0.25 * rate])
            user_trajectories(rng, copies, ages, steps, where, times, number)
            assert times.max() <= 2
        else:
            cyclic_trajectories(rng, rate, separation, steps, where, number)
        found.append(number)
        for row, count in zip(where, number, strict=True):
            assert np.all(np.diff(row[:count]) >= separation)
            assert np.all((row[:count] >= 0) & (row[:count] < steps))
    assert all(number.sum() > 0 for number in found)
