"""Medium runs of every scheme, too long to enumerate, and draws of them."""

from __future__ import annotations

import math

import numpy as np

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.draws import payoffs
from hockeystick.randomness import generator
from hockeystick.schemes.simulation import Proposal, Simulation
from references.participating_plans import banded_matrix

STEPS = 40
FIVE = strategies.bsr(STEPS, bands=5)
SCHEMES = {
    "cold": (hs.MinSep(rate=0.1, separation=5, warm_start=False), FIVE),
    "warm": (hs.MinSep(rate=0.1, separation=6), FIVE),
    "matrix": (hs.MinSep(rate=0.1, separation=5), banded_matrix(STEPS, 5)),
    "poisson": (hs.Poisson(rate=0.05), strategies.identity(STEPS)),
    "user": (hs.UserMinSep(rate=0.03, separation=5, examples_per_user=2, warm_up=4), FIVE),
    "conjectured": (
        hs.ConjecturedUserMinSep(rate=0.03, separation=5, examples_per_user=2, warm_up=7),
        FIVE,
    ),
    "cyclic": (hs.CyclicPoisson(rate=0.5, groups=8, random_phase=True), FIVE),
    "bins": (hs.BallsInBins(bins=20), FIVE),
}
NOISE = {"matrix": 2.0, "bins": 2.5, "user": 2.0, "conjectured": 2.0}


def simulation(name, *, present, proposal=None):
    """A medium run of a scheme; users have two examples."""
    scheme, strategy = SCHEMES[name]
    plan = hs.Plan(sampling=scheme, steps=STEPS, strategy=strategy)
    noise = NOISE.get(name, 1.5)
    return Simulation(
        plan=plan,
        noise_multipliers=(noise,),
        present=present,
        held=scheme.most_copies,
        proposal=proposal,
    )


def proposals_of(run, *, loss=None):
    """Some proposals for the direction of the run; shifts are in units of one standard deviation.

    Or of what moves the loss as far as given.
    """
    runner = run.prepared()
    # |m|^2/s^2 is 1 over the shift for a loss of 1.
    unit = math.sqrt(runner.shift_for(1.0)) if loss is None else runner.shift_for(loss)
    if run.present:
        return [Proposal(1.5, 0.0), Proposal(1.0, 0.5 * unit), Proposal(1.4, 0.4 * unit)]
    return [Proposal(0.0, -0.5 * unit), Proposal(0.0, -unit)]


def payoffs_of(run, payoff, *, draws=12_000, seed=11):
    """The payoffs of draws of a run."""
    blocks = run.prepared().draws(draws, generator(seed))
    return np.concatenate([payoffs(one, payoff, present=run.present)[0] for one in blocks])
