"""Proven bounds on the payoff of a draw from a proposal."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from hockeystick.montecarlo.draws import Payoff, payoffs
from hockeystick.randomness import generator
from hockeystick.schemes.simulation import Proposal
from in_one_test import in_one_test
from montecarlo.medium_runs import SCHEMES, payoffs_of, proposals_of, simulation
from references.participating_plans import SHORT_RUNS, prepared

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow


@in_one_test
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_no_payoff_exceeds_the_proven_bound(name, epsilon):
    """Draws of the proposal itself and of others that reach further; the bound is not vacuous."""
    for present in (True, False):
        run = simulation(name, present=present)
        unit = run.prepared().shift_for(1.0)
        bounded = [Proposal(1.3, 0.0), Proposal(2.0, 0.0)]
        if not present:
            bounded = [Proposal(0.0, -0.3 * unit), Proposal(0.0, -unit)]
        for proposal in bounded:
            proposed = replace(run, proposal=proposal)
            bound = proposed.prepared().log_largest_payoff(epsilon)
            if math.isinf(bound):
                # Laws that cannot be weighted have no bound with the example.
                assert present
                assert name in ("user", "conjectured", "cyclic")
                continue
            largest = max(
                payoffs_of(proposed, Payoff(epsilon), draws=4_000).max(),
                *(
                    referenced_payoffs(run, further, proposal, epsilon).max()
                    for further in proposals_of(run, loss=2 * epsilon + 1)
                ),
            )
            assert largest > 0
            assert math.log(largest) <= bound + 1e-9


def referenced_payoffs(run, drawn_from, proposal, epsilon):
    """What draws from one proposal would pay under another."""
    source = replace(run, proposal=drawn_from, reference=proposal)
    found = []
    for one in source.prepared().draws(4_000, generator(5)):
        swapped = one._replace(log_weights=one.log_references)
        found.append(payoffs(swapped, Payoff(epsilon), present=run.present)[0])
    return np.concatenate(found)


@pytest.mark.parametrize(
    "name", ["cold", "warm, matrix", "poisson, matrix", "rate 1, warm", "bins"]
)
@pytest.mark.parametrize("present", [True, False])
def test_the_bound_holds_at_the_worst_outcome(name, present):
    """Found by a search over outputs, with densities summed over all patterns."""
    (run,) = (one for one in SHORT_RUNS if one.name == name)
    noise, epsilon = 1.2, 0.7
    simulated = prepared(run, noise=noise, present=present)
    unit = simulated.shift_for(epsilon)
    proposal = Proposal(1.6, 0.0) if present else Proposal(0.0, -0.5 * unit)
    bound = replace(simulated.run, proposal=proposal).prepared().log_largest_payoff(epsilon)
    x = np.array([counts for _, counts in run.patterns], dtype=float)
    log_chances = np.log([chance for chance, _ in run.patterns])
    means = x @ run.plan.strategy.to_matrix().T / noise
    squares = (means**2).sum(axis=1)
    t, r = proposal
    centre = r * np.exp(log_chances) @ means
    weights = log_chances + t * (t - 1) * squares / 2

    def log_payoff(y):
        loss = np.logaddexp.reduce(log_chances + means @ y - squares / 2)
        beyond = loss - epsilon if present else -loss - epsilon
        if beyond <= 0:
            return -1e9
        stick = -math.expm1(-beyond)
        if not present:
            return math.log(stick) - centre @ y + centre @ centre / 2
        proposed = np.logaddexp.reduce(weights + t * (means @ y) - t * t * squares / 2)
        return math.log(stick) + loss - proposed + np.logaddexp.reduce(weights)

    side = 1.0 if present else -1.0
    starts = [side * scale * means[np.argmax(squares)] for scale in (0.5, 1.0, 2.0, 4.0)]
    found = [minimize(lambda y: -log_payoff(y), y, method="Nelder-Mead") for y in starts]
    worst = max(-one.fun for one in found)
    assert bound - 3 < worst <= bound + 1e-9


def test_a_run_of_its_own_has_payoffs_up_to_one():
    """Without a proposal the bound is 1."""
    for name in SCHEMES:
        for present in (True, False):
            assert simulation(name, present=present).prepared().log_largest_payoff(1.0) == 0
