"""Advantage, true positive rate and Bayes risk of an attacker."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import hockeystick as hs
from hockeystick.bounds.risk import AttackRisk

GAUSSIAN = hs.Plan(sampling=hs.FullBatch(), steps=1)
SAMPLED = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_gaussian_mechanism_has_closed_forms(mu):
    """[DongRothSu22]: advantage, rates and Bayes risk of N(mu, 1) against N(0, 1)."""
    found = hs.account(GAUSSIAN, noise_multiplier=1 / mu)
    assert found.advantage() == pytest.approx(2 * ndtr(mu / 2) - 1, rel=1e-6)
    for rate in (1e-6, 1e-3, 0.1, 0.9):
        exact = ndtr(mu + ndtri(rate))
        assert exact * (1 - 1e-12) <= found.true_positive_rate(rate) <= exact * 1.001
    for prior in (0.1, 0.5, 0.7):
        smaller = min(prior, 1 - prior)
        threshold = mu / 2 + math.log((1 - smaller) / smaller) / mu
        exact = smaller * ndtr(threshold - mu) + (1 - smaller) * ndtr(-threshold)
        assert exact * (1 - 1e-3) <= found.bayes_risk(prior) <= exact * (1 + 1e-12)


def test_no_attack_on_a_discrete_run_exceeds_its_bounds():
    """All tests of a pair with four outputs, both ways round."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        p, q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        plan = hs.Plan(
            sampling=hs.FullBatch(), steps=1, mechanism=hs.Profile.from_pmfs(list(p), list(q))
        )
        found = hs.account(plan)
        for attack in range(1, 15):
            chosen = [bool(attack >> i & 1) for i in range(4)]
            for with_example, without in ((p, q), (q, p)):
                true, false = with_example[chosen].sum(), without[chosen].sum()
                assert true - false <= found.advantage() * (1 + 1e-9)
                assert true <= found.true_positive_rate(float(false)) * (1 + 1e-9)
                for prior in (0.2, 0.5, 0.8):
                    error = prior * (1 - true) + (1 - prior) * false
                    assert found.bayes_risk(prior) <= error * (1 + 1e-9)


class _Bounded(AttackRisk):
    """The Gaussian mechanism, of which only bounds on delta are known, a tenth too large."""

    directions = ("remove", "add")
    exact_profile = None

    def delta(self, epsilon):
        return min(1.0, 1.1 * hs.Profile.gaussian(noise_multiplier=1.0).delta(epsilon))

    def answer(self, *, delta=None, epsilon=None):
        raise NotImplementedError


def test_rates_of_a_run_without_its_own_pair():
    """Where only bounds on delta are known: the least bound over all orders, on both sides of 1."""
    epsilons = np.linspace(0, 8, 801)
    delta = np.array([_Bounded().delta(epsilon) for epsilon in epsilons])
    for rate in (1e-4, 0.01, 0.3, 0.9):
        above = (delta + np.exp(epsilons) * rate).min()
        below = (1 - np.exp(-epsilons) * (1 - delta - rate)).min()
        found = _Bounded().true_positive_rate(rate)
        assert ndtr(1 + ndtri(rate)) < found
        assert found == pytest.approx(min(above, below), rel=1e-3)


class _EmptyAtFirst(_Bounded):
    """Nothing is known of the Gaussian mechanism below an epsilon."""

    known_from = 0.5

    def delta(self, epsilon):
        return super().delta(epsilon) if epsilon >= self.known_from else 1.0


def test_where_delta_is_unknown_other_epsilons_bound_it():
    """By the lowest chord, found on a grid; above the exact numbers."""
    found = _EmptyAtFirst()
    largest = np.linspace(0.5, 8, 7501)
    high, low = np.exp(largest), np.exp(-largest)
    delta = np.array([found.delta(epsilon) for epsilon in largest])
    for epsilon in (0.0, 0.3):
        share = (math.exp(epsilon) - low) / (high - low)
        chord = (share * delta + (1 - share) * (1 - (1 - delta) * low)).min()
        prior = 1 / (1 + math.exp(epsilon))
        reached = found.advantage() if epsilon == 0 else 1 - found.bayes_risk(prior) / prior
        assert hs.Profile.gaussian(noise_multiplier=1.0).delta(epsilon) < reached < 0.7
        assert reached == pytest.approx(chord, rel=2e-3)


def test_one_direction_says_nothing_about_the_other():
    """The chord would begin at a delta of the other direction."""

    class Removing(_EmptyAtFirst):
        directions = ("remove",)

    assert Removing().advantage() == 1.0


@pytest.mark.parametrize("plan", [GAUSSIAN, SAMPLED], ids=["full batch", "poisson"])
@pytest.mark.parametrize(
    "target",
    [
        {"advantage": 0.1},
        {"true_positive_rate": 0.05, "false_positive_rate": 0.01},
        {"bayes_risk": 0.25, "prior": 0.3},
    ],
    ids=lambda target: next(iter(target)),
)
def test_calibrated_noise_meets_the_risk(plan, target):
    """At most the risk that was asked, with at most half a per cent of noise to spare."""
    found = hs.calibrate(plan, **target)
    less = hs.account(plan, noise_multiplier=found.noise_multiplier * 0.995)
    assert _met(found.guarantee, target)
    assert not _met(less, target)
    # The implied (epsilon, delta) is one of the run's.
    assert found.guarantee.delta(found.epsilon) <= found.delta * (1 + 1e-12)


def _met(found, target):
    if "advantage" in target:
        return found.advantage() <= target["advantage"]
    if "prior" in target:
        return found.bayes_risk(target["prior"]) >= target["bayes_risk"]
    rate = found.true_positive_rate(target["false_positive_rate"])
    return rate <= target["true_positive_rate"]


@pytest.mark.parametrize(
    "target",
    [
        {"advantage": 0.1, "prior": 0.5},
        {"true_positive_rate": 0.1},
        {"false_positive_rate": 0.1},
        {"true_positive_rate": 0.1, "false_positive_rate": 0.2},
        {"bayes_risk": 0.4, "prior": 0.3},
        {"advantage": 0.1, "epsilon": 1.0},
        {"advantage": math.nan},
        {"advantage": 0.1, "method": "monte-carlo"},
        {},
    ],
    ids=str,
)
def test_refused_targets(target):
    """Several targets, half of one, or one that chance already meets."""
    with pytest.raises(hs.errors.InvalidParameter):
        hs.calibrate(GAUSSIAN, **target)


def test_one_direction_has_no_risk():
    """An attack may go either way."""
    found = hs.account(SAMPLED, noise_multiplier=1.0, direction="add")
    for ask in (lambda: found.true_positive_rate(0.1), lambda: found.bayes_risk(0.3)):
        with pytest.raises(hs.errors.InvalidParameter, match="direction"):
            ask()
