"""Payoffs of draws, their split at a cap and the sums that are kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.draws import Job, Payoff, Sums, draw_piece, payoffs, pieces_of
from hockeystick.randomness import generator
from hockeystick.schemes.simulation import Drawn, Proposal, Simulation

PLAN = hs.Plan(
    sampling=hs.MinSep(rate=0.1, separation=4), steps=30, strategy=strategies.bsr(30, bands=4)
)
EPSILON = 1.0
DRAWS = 20_000


def run_in(direction):
    """A medium run with a good proposal."""
    plain = Simulation(plan=PLAN, noise_multipliers=(1.5,), present=direction == "remove")
    unit = plain.prepared().shift_for(EPSILON)
    proposal = Proposal(1.3, 0.4 * unit) if plain.present else Proposal(0.0, -0.6 * unit)
    return plain, proposal


def worth_of(run, payoff, *, seed=9):
    """The payoffs of all draws."""
    blocks = run.prepared().draws(DRAWS, generator(seed))
    return np.concatenate([payoffs(one, payoff, present=run.present)[0] for one in blocks])


def agree(left, right):
    """Whether two means of as many draws are the same, within four standard errors."""
    error = math.hypot(left.std(), right.std()) / math.sqrt(left.size)
    return abs(left.mean() - right.mean()) <= 4 * error


def test_hockey_sticks_by_hand():
    """1 - e^epsilon/LR with the example, 1 - e^epsilon LR without it, where positive."""
    drawn = Drawn(np.array([[2.0, 0.5, -3.0]]))
    present = payoffs(drawn, Payoff(1.0), present=True)
    absent = payoffs(drawn, Payoff(1.0), present=False)
    np.testing.assert_allclose(present, [[1 - math.exp(-1), 0, 0]], rtol=1e-15)
    np.testing.assert_allclose(absent, [[0, 0, 1 - math.exp(-2)]], rtol=1e-15)


def test_weights_and_caps_by_hand():
    """Weights multiply; the cap and the excess over it add up to the whole."""
    drawn = Drawn(np.array([[2.0, 3.0]]), np.log([5.0, 0.5]), np.log([5.0, 0.5]))
    whole = payoffs(drawn, Payoff(1.0), present=True)
    capped = payoffs(drawn, Payoff(1.0, "capped", 2.0), present=True)
    excess = payoffs(drawn, Payoff(1.0, "excess", 2.0), present=True)
    sticks = 1 - np.exp([-1.0, -2.0])
    np.testing.assert_allclose(whole[0], sticks * [5, 0.5], rtol=1e-14)
    np.testing.assert_allclose(capped[0], [2.0, 0.5 * sticks[1]], rtol=1e-14)
    np.testing.assert_allclose((capped + excess)[0], whole[0], rtol=1e-14)


def test_weights_that_overflow_where_nothing_counts():
    """A huge weight of a draw whose hockey stick is 0 is worth 0."""
    drawn = Drawn(np.array([[0.0, 2.0]]), np.array([2_000.0, 0.0]))
    found = payoffs(drawn, Payoff(1.0), present=True)
    np.testing.assert_allclose(found, [[0.0, -math.expm1(-1.0)]], rtol=1e-14)


def test_losses_that_are_not_numbers_stay_visible():
    """NaN must not look like a payoff of 0."""
    drawn = Drawn(np.array([[math.nan, 2.0]]))
    assert np.isnan(payoffs(drawn, Payoff(1.0), present=True)[0, 0])


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_the_two_parts_add_up(direction):
    """E_R[min(Z, T)] + E_P[stick (1 - T/Z)+] = delta, although the draws differ."""
    plain, proposal = run_in(direction)
    proposed = replace(plain, proposal=proposal)
    whole = worth_of(plain, Payoff(EPSILON))
    cap = float(np.quantile(worth_of(proposed, Payoff(EPSILON)), 0.9))
    capped = worth_of(proposed, Payoff(EPSILON, "capped", cap), seed=10)
    excess = worth_of(replace(plain, reference=proposal), Payoff(EPSILON, "excess", cap), seed=11)
    assert capped.max() <= cap
    assert 0 < excess.mean() < 0.5 * whole.mean()
    error = math.sqrt((whole.var() + capped.var() + excess.var()) / DRAWS)
    assert abs(capped.mean() + excess.mean() - whole.mean()) <= 4 * error


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_excess_from_another_proposal(direction):
    """The excess may be drawn from a proposal with a proven bound as well."""
    plain, proposal = run_in(direction)
    unit = plain.prepared().shift_for(EPSILON)
    other = Proposal(1.2, 0.0) if plain.present else Proposal(0.0, -0.3 * unit)
    payoff = Payoff(EPSILON, "excess", 0.02)
    mine = worth_of(replace(plain, reference=proposal), payoff)
    theirs = worth_of(replace(plain, proposal=other, reference=proposal), payoff, seed=12)
    assert mine.mean() > 0
    assert agree(mine, theirs)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_extreme_caps(direction):
    """Nothing exceeds a huge cap; next to nothing is below a tiny one."""
    plain, proposal = run_in(direction)
    run = replace(plain, reference=proposal)
    assert worth_of(run, Payoff(EPSILON, "excess", 1e12)).max() == 0
    whole = worth_of(run, Payoff(EPSILON))
    np.testing.assert_allclose(
        worth_of(run, Payoff(EPSILON, "excess", 1e-12)).sum(), whole.sum(), rtol=1e-6
    )


def test_pieces_add_up_to_the_job():
    """Draws of all pieces; every piece is its own function of the seed."""
    plain, _ = run_in("remove")
    job = Job(plain, (Payoff(0.5), Payoff(1.0)), 1_700_001, seed=3)
    pieces = list(pieces_of(job))
    assert sum(piece.draws for piece in pieces) == job.draws
    assert len(pieces) > 1
    small = replace(job, draws=600)
    (piece,) = pieces_of(small)
    first, again = draw_piece(piece), draw_piece(piece)
    other = draw_piece(replace(piece, number=1))
    np.testing.assert_array_equal(first.totals, again.totals)
    assert not np.array_equal(first.totals, other.totals)
    assert not np.array_equal(
        first.totals, draw_piece(replace(piece, job=replace(small, stream=(1,)))).totals
    )


def test_sums_of_draws():
    """Means, variances and largest payoffs of draws that were forgotten."""
    plain, _ = run_in("remove")
    worth = worth_of(plain, Payoff(EPSILON))
    half = worth.size // 2
    total = Sums.nothing([0], [0])
    for part in (worth[:half], worth[half:]):
        sums = [np.array([[value]]) for value in (part.sum(), (part**2).sum(), part.max())]
        total = total.plus(Sums(part.size, *sums))
    assert total.means[0, 0] == pytest.approx(worth.mean(), rel=1e-12)
    assert total.variances[0, 0] == pytest.approx(worth.var(), rel=1e-10)
    assert total.largest[0, 0] == worth.max()
