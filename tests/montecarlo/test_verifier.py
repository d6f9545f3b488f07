"""The verifier: false claims seldom pass, true ones with slack do."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick._numerics.search import bracket
from hockeystick.montecarlo import Execution
from hockeystick.montecarlo.checkpoint import Checkpoint
from hockeystick.montecarlo.concentration import relative_entropy
from hockeystick.montecarlo.drawing import Drawer, open_pool
from hockeystick.montecarlo.draws import Job, Payoff, draw_piece, pieces_of
from hockeystick.montecarlo.trials import Design, Trial, cheapest_design
from hockeystick.montecarlo.verifier import Claim, Verifier
from hockeystick.schemes.simulation import Proposal, Simulation

STEPS = 4
PLAN = hs.Plan(
    sampling=hs.MinSep(rate=0.3, separation=2),
    steps=STEPS,
    strategy=strategies.bsr(STEPS, bands=2),
)
NOISE, EPSILON = 1.0, 0.5


@contextmanager
def verifier(seed):
    """One that draws on one core and remembers nothing."""
    execution = Execution(workers=1)
    with open_pool(execution) as pool:
        yield Verifier(Drawer(pool, Checkpoint(None, {}, seed), execution))


def mean_of(run, payoff, *, draws=400_000):
    """The expectation, to a few parts in a thousand."""
    pieces = [draw_piece(piece) for piece in pieces_of(Job(run, (payoff,), draws, seed=77))]
    return sum(float(sums.totals[0, 0]) for sums in pieces) / draws


def a_run(direction):
    """The run itself, and a good proposal for it."""
    plain = Simulation(plan=PLAN, noise_multipliers=(NOISE,), present=direction == "remove")
    unit = plain.prepared().shift_for(EPSILON)
    return plain, Proposal(1.2, 0.3 * unit) if plain.present else Proposal(0.0, -0.4 * unit)


def material_for(part, direction):
    """A simulation, its payoff and the largest value that the payoff can have."""
    plain, proposal = a_run(direction)
    if part == "whole":
        return plain, Payoff(EPSILON), 1.0
    cap = mean_of(replace(plain, proposal=proposal), Payoff(EPSILON))
    if part == "capped":
        return replace(plain, proposal=proposal), Payoff(EPSILON, "capped", cap), cap
    return replace(plain, reference=proposal), Payoff(EPSILON, "excess", 0.1 * cap), 1.0


def trial_for(run, payoff, largest, *, allowed, draws, miss):
    """The threshold at which the stated bound on a false pass is `miss`."""
    exponent = math.log(1 / miss) / draws
    below = bracket(
        lambda down: relative_entropy((allowed - down) / largest, allowed / largest) > exponent,
        0.0,
        allowed,
    )[1]
    return Trial(run, payoff, largest, allowed, allowed - below, draws)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("part", ["whole", "capped", "excess"])
@pytest.mark.parametrize("falseness", [0.9, 0.995])
def test_false_passes_are_within_their_bound(part, direction, falseness):
    """A claim that is false by 10 %, and one that is false by so little that passes occur."""
    run, payoff, largest = material_for(part, direction)
    truth = mean_of(run, payoff)
    assert 0.01 < truth < 0.5
    trial = trial_for(run, payoff, largest, allowed=falseness * truth, draws=400, miss=0.3)
    stated = trial.false_pass()
    assert stated == pytest.approx(0.3, rel=1e-3)
    repetitions = 150
    passes = 0
    for seed in range(repetitions):
        with verifier(seed) as one:
            passes += one.test([Design((trial,))], text="", stream=(0,)).accepted
    assert passes <= repetitions * stated + 3 * math.sqrt(repetitions * stated * (1 - stated))
    if (falseness, part, direction) == (0.995, "whole", "remove"):
        # The test can fail: passes do occur.
        assert passes > 0


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_split_claims_that_are_false(direction):
    """Two trials together: the chances of passing wrongly do not add up."""
    plain, proposal = a_run(direction)
    delta = mean_of(plain, Payoff(EPSILON))
    (capped_run, capped, cap) = material_for("capped", direction)
    excess_run = replace(plain, reference=proposal)
    excess = Payoff(EPSILON, "excess", cap)
    allowed = 0.9 * delta
    parts = (mean_of(capped_run, capped), mean_of(excess_run, excess))
    assert sum(parts) == pytest.approx(delta, rel=0.02)
    for share in (parts[1] / delta, 0.3):
        trials = (
            trial_for(capped_run, capped, cap, allowed=(1 - share) * allowed, draws=300, miss=0.3),
            trial_for(excess_run, excess, 1.0, allowed=share * allowed, draws=300, miss=0.3),
        )
        passes = 0
        for seed in range(150):
            with verifier(seed) as one:
                passes += one.test([Design(trials)], text="", stream=(0,)).accepted
        assert passes <= 150 * 0.3 + 3 * math.sqrt(150 * 0.21)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_true_claims_with_slack_pass(direction):
    """Trials laid out by a pilot: accepted, with the stated chance of being wrong."""
    with verifier(5) as one:
        run, _ = a_run(direction)
        delta = mean_of(run, Payoff(EPSILON))
        claim = Claim(PLAN, EPSILON, 1.25 * delta, (direction,))
        pilots = one.pilots(claim, NOISE, stream=(2,))
        assert pilots[0].mean == pytest.approx(delta, rel=0.05)
        designs = one.designs(claim, pilots)
        for design in designs:
            for trial in design.trials:
                assert trial.false_pass() <= claim.false_acceptance * (1 + 1e-9)
                assert trial.threshold < trial.allowed <= claim.allowed
        outcome = one.test(designs, text="", stream=(2,))
    assert outcome.accepted
    assert outcome.draws == sum(design.draws for design in designs)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_shares_of_a_split_do_not_exceed_the_claim(direction):
    """What the trials of one design allow together is what the claim allows."""
    with verifier(6) as one:
        claim = Claim(PLAN, 0.8, 1e-3, (direction,))
        (pilot,) = one.pilots(claim, 2.0, stream=(2,))
    assert 0 < pilot.mean < 0.02
    design = cheapest_design(pilot, allowed=2 * pilot.mean, false_pass=1e-6)
    total = sum(trial.allowed for trial in design.trials)
    assert total <= 2 * pilot.mean * (1 + 1e-12)
    assert all(trial.false_pass() <= 1e-6 * (1 + 1e-9) for trial in design.trials)


def test_the_cost_of_a_wrong_acceptance_is_inside_delta():
    """d + q (1 - d) = delta."""
    claim = Claim(PLAN, 1.0, 1e-5, ("remove", "add"))
    assert claim.allowed + claim.false_acceptance * (1 - claim.allowed) == pytest.approx(
        1e-5, rel=1e-12
    )
    assert 0 < claim.false_acceptance < claim.allowed < claim.delta


def test_a_trial_stops_when_it_cannot_pass_any_more(monkeypatch):
    """Payoffs are not negative: the draws that are left are saved."""
    monkeypatch.setattr("hockeystick.montecarlo.draws.PIECE", 4_000)
    run, _ = a_run("remove")
    trial = Trial(run, Payoff(EPSILON), 1.0, 0.01, 0.001, 100_000)
    with verifier(1) as one:
        outcome = one.test([Design((trial,))], text="", stream=(0,))
    assert not outcome.accepted
    assert outcome.draws < trial.draws
    assert outcome.failed == trial
    assert outcome.mean > 0.01


def test_means_that_are_not_numbers_do_not_pass(monkeypatch):
    """NaN must fail."""
    run, _ = a_run("remove")
    trial = Trial(run, Payoff(EPSILON), 1.0, 0.5, 0.4, 100)
    monkeypatch.setattr(
        "hockeystick.montecarlo.draws.payoffs",
        lambda drawn, payoff, present: np.full((1, 1), np.nan),
    )
    with verifier(1) as one:
        assert not one.test([Design((trial,))], text="", stream=(0,)).accepted
