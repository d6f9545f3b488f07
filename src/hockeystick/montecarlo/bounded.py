"""Proposals for which the largest payoff is known, without any draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from hockeystick.schemes.simulation import Proposal, Simulation

__all__ = ["bounded_runs", "tightest_run"]

# Scales with the example, and shifts without it, in units of what moves the loss by epsilon.
SCALES = (1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 2.5, 3.0)
SHIFTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)

# Smaller bounds are raised to this one, which floating point can hold.
SMALLEST_LOG = -600.0


def bounded_runs(run: Simulation, epsilon: float) -> Iterator[tuple[Simulation, float]]:
    """The run with proposals under which no payoff exceeds a bound below 1, and these bounds."""
    plain = replace(run, proposal=None)
    runner = plain.prepared()
    if not runner.takes_proposals:
        return
    unit = runner.shift_for(max(epsilon, 0.1))
    if unit == 0:
        return
    proposals = (
        [Proposal(scale, 0.0) for scale in SCALES]
        if plain.present
        else [Proposal(0.0, -shift * unit) for shift in SHIFTS]
    )
    for proposal in proposals:
        proposed = replace(plain, proposal=proposal)
        bound = proposed.prepared().log_largest_payoff(epsilon)
        if bound < 0:
            yield proposed, math.exp(max(bound, SMALLEST_LOG))


def tightest_run(run: Simulation, epsilon: float) -> tuple[Simulation, float]:
    """The run itself, whose payoffs are at most 1, or the proposal with the smallest bound."""
    plain = (replace(run, proposal=None), 1.0)
    return min([plain, *bounded_runs(run, epsilon)], key=lambda choice: choice[1])
