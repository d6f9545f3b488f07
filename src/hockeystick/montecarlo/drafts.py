"""What verification is going to draw, before it does: how many, how long, and what it buys."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hockeystick.montecarlo.pilot import Pilot
from hockeystick.montecarlo.trials import Design, Trial
from hockeystick.montecarlo.verifier import Claim, Verifier

__all__ = ["DrawPlan", "PlannedTrial", "draw_plan", "planned"]


@dataclass(frozen=True)
class PlannedTrial:
    """A test of one direction: passes if the mean payoff is at most `threshold`.

    `part` says of what: the whole delta, the part below a cap, or what exceeds it.
    """

    direction: str
    part: str
    draws: int
    threshold: float


@dataclass(frozen=True)
class DrawPlan:
    """The trials of a claim at one noise, their number of draws and expected time.

    `estimated_delta` is what the pilot saw in the worst direction. `passes_up_to` is the largest
    delta that the trials are laid out for: the distance to the claimed delta is the price of
    verifying with so few draws. If there are no trials although `feasible` is false, the claim
    is too close to the truth, or false.
    """

    noise_multiplier: float
    trials: tuple[PlannedTrial, ...]
    estimated_delta: float
    passes_up_to: float
    seconds: float
    feasible: bool

    @property
    def draws(self) -> int:
        """All draws."""
        return sum(trial.draws for trial in self.trials)


def draw_plan(
    verifier: Verifier, claim: Claim, noise: float, *, stream: tuple[int, ...]
) -> DrawPlan:
    """Run the pilots of a claim and lay out its trials."""
    start = time.perf_counter()
    pilots = verifier.look(claim, noise, stream=stream)
    seconds = time.perf_counter() - start
    return planned(claim, noise, pilots, verifier.designs(claim, pilots), seconds)


def planned(
    claim: Claim,
    noise: float,
    pilots: list[Pilot],
    designs: list[Design] | None,
    seconds: float,
) -> DrawPlan:
    """Put a layout of trials into words; `seconds` is how long the pilots took."""
    trials = [trial for design in designs or [] for trial in design.trials]
    speed = sum(pilot.draws for pilot in pilots) / max(seconds, 1e-9)
    shown = [trial for trial in trials if trial.payoff.part != "excess"]
    return DrawPlan(
        noise,
        tuple(_shown(trial) for trial in trials),
        max(pilot.mean for pilot in pilots),
        max((trial.threshold for trial in shown), default=claim.allowed if designs else 0.0),
        sum(trial.draws for trial in trials) / speed,
        designs is not None,
    )


def _shown(trial: Trial) -> PlannedTrial:
    direction = "remove" if trial.simulation.present else "add"
    return PlannedTrial(direction, trial.payoff.part, trial.draws, trial.threshold)
