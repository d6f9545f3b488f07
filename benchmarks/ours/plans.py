"""Plans that several participants of ours are asked about."""

from __future__ import annotations

import hockeystick as hs
import settings as s  # beside harness.py


def banded_bins(c, bins=None):
    """Balls-in-bins over several epochs, noise correlated by a banded square root."""
    bins = c["bins"] if bins is None else bins
    steps = bins * c["epochs"]
    strategy = hs.strategies.bsr(steps, bands=c["bands"])
    return hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=steps, strategy=strategy)


def gram_plan():
    """Bins with correlated noise."""
    return banded_bins(s.GRAM)


def min_sep_plan(c):
    """b-min-sep from a warm start, as many bands as steps of rest."""
    strategy = hs.strategies.bsr(c["steps"], bands=c["bands"])
    scheme = hs.MinSep(rate=c["rate"], separation=c["bands"])
    return hs.Plan(sampling=scheme, steps=c["steps"], strategy=strategy)


def poisson_run(noise, rate, steps, **options):
    """Poisson sampling with independent noise."""
    plan = hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps)
    return hs.account(plan, noise_multiplier=noise, **options)


def allocation_run(noise, out_of, picks=1, epochs=1):
    """Random allocation, drawn afresh in every epoch."""
    scheme = hs.RandomAllocation(picks=picks, out_of=out_of)
    plan = hs.Plan(sampling=scheme, steps=epochs * out_of)
    return hs.account(plan, noise_multiplier=noise, method="profile")


def bounds(guarantee, delta):
    """The proven bounds of epsilon, the lower one None where nothing is claimed."""
    answer = guarantee.answer(delta=delta)
    return answer.lower, answer.value


def estimated_delta(plan, noise, epsilon, draws):
    """delta from draws of a run with the example, on all cores: a lower limit, and the mean."""
    found = hs.estimate_profile(
        plan,
        noise_multiplier=noise,
        epsilons=[epsilon],
        direction="remove",
        draws=draws,
        seed=0,
    )["remove"][0]
    return found.low, found.value, [found.value]
