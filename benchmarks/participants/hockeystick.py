"""Hockeystick: both sides certified within 0.1 %, both directions."""

from __future__ import annotations

from functools import reduce

import settings as s  # beside harness.py

import hockeystick as hs


def _poisson(noise, rate, steps):
    plan = hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps)
    return hs.account(plan, noise_multiplier=noise)


def _bounds(guarantee, delta):
    answer = guarantee.answer(delta=delta)
    return answer.lower, answer.value


def poisson():
    """Plain Poisson sampling."""
    c = s.POISSON
    return _bounds(_poisson(c["noise"], c["rate"], c["steps"]), c["delta"])


def fifty_phases():
    """Fifty noise levels in turn."""
    c = s.PHASES
    runs = [_poisson(noise, c["rate"], c["steps"]) for noise in c["noises"]]
    return _bounds(reduce(hs.Guarantee.compose, runs), c["delta"])


def small_noise():
    """One step with very little noise."""
    c = s.SMALL_NOISE
    return _bounds(_poisson(c["noise"], c["rate"], c["steps"]), c["delta"])


def allocation():
    """One block of random allocation."""
    c = s.ALLOCATION
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=c["out_of"]), steps=c["out_of"])
    return _bounds(hs.account(plan, noise_multiplier=c["noise"]), c["delta"])


CASES = {
    "poisson": poisson,
    "fifty phases": fifty_phases,
    "small noise": small_noise,
    "allocation": allocation,
}
