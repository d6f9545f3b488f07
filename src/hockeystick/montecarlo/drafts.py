"""What verification is going to draw, before it does: how many, how long, and what it buys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from hockeystick.montecarlo.pilot import Pilot
from hockeystick.montecarlo.trials import Design
from hockeystick.montecarlo.verifier import Claim, Verifier

__all__ = ["DrawPlan", "PlannedTrial", "draw_plan", "planned"]


@dataclass(frozen=True)
class PlannedTrial:
    """A test of one direction: passes if the mean payoff is at most `threshold`.

    `part` says of what: the whole delta, the part below a cap, or what exceeds it. "proven" needs
    no draws; its threshold is the proven bound. Users may have `held` examples.
    """

    direction: str
    held: int
    part: str
    draws: int
    threshold: float


@dataclass(frozen=True)
class DrawPlan:
    """The trials of a claim at one noise, their number of draws and expected time.

    `estimated_delta` is what the pilot saw in the worst direction. `passes_up_to` is the largest
    delta that the trials are laid out for: the distance to the claimed delta is the price of
    verifying with so few draws. A claim that is not `feasible` is too close to the truth, or false.
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
    return planned(noise, pilots, verifier.designs(claim, pilots), seconds=seconds)


def planned(
    noise: float, pilots: list[Pilot], designs: list[Design] | None, *, seconds: float
) -> DrawPlan:
    """Put a layout of trials into words; `seconds` is how long the pilots took."""
    rows = [
        row
        for pilot, design in zip(pilots, designs or [], strict=False)
        for row in _rows(pilot, design)
    ]
    speed = sum(pilot.draws for pilot in pilots) / max(seconds, 1e-9)
    return DrawPlan(
        noise,
        tuple(rows),
        max(pilot.mean for pilot in pilots),
        max((row.threshold for row in rows if row.part in ("whole", "capped")), default=0.0),
        sum(row.draws for row in rows) / speed,
        designs is not None,
    )


def _rows(pilot: Pilot, design: Design) -> Iterator[PlannedTrial]:
    run = pilot.run
    direction = "remove" if run.present else "add"
    if design.proven is not None:
        yield PlannedTrial(direction, run.held, "proven", 0, design.proven)
    for trial in design.trials:
        yield PlannedTrial(direction, run.held, trial.payoff.part, trial.draws, trial.threshold)
