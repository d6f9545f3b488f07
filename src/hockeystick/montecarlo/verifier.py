"""Testing a claim (epsilon, delta) before a run; the chance of a wrong acceptance is inside delta.

Estimate-verify-release [Wang23] [DongGanesh26, Theorem A.1]: a mechanism that is run only after it
was accepted, by a verifier that accepts one that is not (epsilon, d)-DP with probability at most q,
is (epsilon, d + q (1 - d))-DP. Runs are mixtures of Gaussians, so adding never leaks more than
removing (bounds/combined.py): a claim about both directions is tested by removing. For users
every number of examples is; a false claim is false for one of these, so their chances do not add
up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.bounds.combined import directions_that_decide
from hockeystick.montecarlo.drawing import Drawer
from hockeystick.montecarlo.draws import Job
from hockeystick.montecarlo.pilot import Pilot, run_pilot
from hockeystick.montecarlo.sequential import SequentialTrial
from hockeystick.montecarlo.trials import Design, Trial, cheapest_design
from hockeystick.plan import Plan
from hockeystick.profile.resolution import Direction
from hockeystick.schemes.simulation import Simulation, runs_of

__all__ = ["Claim", "DrawPlan", "Outcome", "PlannedTrial", "Verifier"]

# The part of delta for a wrong acceptance. With less, more draws are needed, in proportion to
# log(1/q); with more, less delta is left for the run.
FALSE_ACCEPTANCE_SHARE = 0.01
# Streams of random numbers: pilots and trials never share one.
PILOT_STREAM, TRIAL_STREAM = 0, 1


@dataclass(frozen=True)
class Claim:
    """That a plan is (epsilon, delta)-DP, at a noise that is still to be named.

    If it is one of several claims of which one is used in the end, chosen by whatever was accepted,
    each of the `choices` has its part of q: by the union bound a false one is used with probability
    at most q.
    """

    plan: Plan
    epsilon: float
    delta: float
    directions: tuple[Direction, ...]
    choices: int = 1

    @property
    def false_acceptance(self) -> float:
        """The probability q with which a mechanism that is not (epsilon, allowed)-DP may pass."""
        return FALSE_ACCEPTANCE_SHARE * self.delta

    @property
    def false_pass(self) -> float:
        """The part of q of this claim alone."""
        return self.false_acceptance / self.choices

    @property
    def allowed(self) -> float:
        """d with d + q (1 - d) = delta."""
        return (self.delta - self.false_acceptance) / (1 - self.false_acceptance)

    def runs(self, noise: float) -> list[Simulation]:
        """What has to be tested: the direction that decides, each number of a user's examples."""
        return [
            replace(run, noise_multipliers=(noise,))
            for direction in directions_that_decide(self.directions)
            for run in runs_of(self.plan, present=direction == "remove")
        ]


@dataclass(frozen=True)
class PlannedTrial:
    """A test of one direction: it passes if the mean of its draws is at most `threshold`.

    Attributes
    ----------
    direction
        "remove" or "add".
    held
        How many examples the user has; 1 if the unit is an example.
    part
        What is tested: the "whole" delta, the part that is "capped", or the "excess" over the cap.
        "sequential" tests the whole and may pass at any time. "proven" needs no draws; its
        threshold is the proven bound.
    draws, threshold
        How many draws are likely to be made, and the largest mean that passes; for a sequential
        test the mean for which it is placed.
    """

    direction: str
    held: int
    part: str
    draws: int
    threshold: float


@dataclass(frozen=True)
class DrawPlan:
    """The trials of a claim at one noise, before they are made.

    Attributes
    ----------
    noise_multiplier
        The noise that is tested.
    trials
        One or two `PlannedTrial` for each direction, and for each number of a user's examples.
    estimated_delta
        The pilot's estimate in the worst direction.
    passes_up_to
        The largest delta that the trials are designed for. Its distance to the claimed delta is
        what verifying with so few draws costs.
    seconds
        About how long the draws will take, at the speed of the pilots.
    feasible
        False if the claim is too close to the truth to be tested, or false.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> found = hs.draws_to_verify(plan, noise_multiplier=2.0, epsilon=1.0, delta=0.01, seed=1)
    >>> found.feasible, found.draws == sum(trial.draws for trial in found.trials)
    (True, True)
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


class Outcome(NamedTuple):
    """Whether all trials passed; if not, the first that did not, and its mean."""

    accepted: bool
    draws: int
    failed: Trial | SequentialTrial | None = None
    mean: float = 0.0
    trials: tuple[Trial | SequentialTrial, ...] = ()

    @property
    def details(self) -> dict[str, object]:
        """The order and the bound of a test by tuples of replicas; nothing for other tests.

        The largest bound of several numbers of a user's examples, and its order.
        """
        known = [
            (trial.largest, trial.simulation.replicas.order)
            for trial in self.trials
            if trial.simulation.replicas is not None
        ]
        if not known:
            return {}
        largest, order = max(known)
        return {"order": order, "largest_payoff": largest}


@dataclass(frozen=True)
class Verifier:
    """Runs pilots, designs trials and makes them."""

    drawer: Drawer

    def pilots(self, claim: Claim, noise: float, *, stream: tuple[int, ...]) -> list[Pilot]:
        """A pilot for each run of the claim."""
        return [
            run_pilot(self.drawer, run, claim.epsilon, stream=(PILOT_STREAM, *stream, number))
            for number, run in enumerate(claim.runs(noise))
        ]

    @staticmethod
    def designs(claim: Claim, pilots: list[Pilot], *, change: float = 1.0) -> list[Design] | None:
        """Trials for each run; None if some run is too close to the bound to pass."""
        found = [
            cheapest_design(
                pilot, allowed=claim.allowed, false_pass=claim.false_pass, change=change
            )
            for pilot in pilots
        ]
        known = [design for design in found if design is not None]
        return known if len(known) == len(found) else None

    def draw_plan(self, claim: Claim, noise: float, *, stream: tuple[int, ...]) -> DrawPlan:
        """Run the pilots of a claim and describe the trials that follow from them."""
        start = time.perf_counter()
        pilots = self.pilots(claim, noise, stream=stream)
        seconds = time.perf_counter() - start
        designs = self.designs(claim, pilots)
        rows = [
            row
            for pilot, design in zip(pilots, designs or [], strict=False)
            for row in _planned(pilot, design)
        ]
        speed = sum(pilot.draws for pilot in pilots) / max(seconds, 1e-9)
        return DrawPlan(
            noise,
            tuple(rows),
            max(pilot.mean for pilot in pilots),
            max((row.threshold for row in rows if row.part != "excess"), default=0.0),
            sum(row.draws for row in rows) / speed,
            designs is not None,
        )

    def test(self, designs: list[Design], *, text: str, stream: tuple[int, ...]) -> Outcome:
        """Make the trials one after the other, up to the first that fails."""
        trials = [trial for design in designs for trial in design.trials]
        draws = 0
        for number, trial in enumerate(trials):
            job = Job(
                trial.simulation,
                (trial.payoff,),
                trial.draws,
                self.drawer.seed,
                (TRIAL_STREAM, *stream, number),
            )
            name = f"{text}, trial {number + 1} of {len(trials)}"
            sums = self.drawer.sums(job, text=name, enough=trial.settled)
            draws += sums.draws
            if not trial.passed(sums):
                return Outcome(False, draws, trial, trial.mean(sums), tuple(trials))
        return Outcome(True, draws, trials=tuple(trials))


def _planned(pilot: Pilot, design: Design) -> Iterator[PlannedTrial]:
    run = pilot.run
    direction = "remove" if run.present else "add"
    if design.proven is not None:
        yield PlannedTrial(direction, run.held, "proven", 0, design.proven)
    for trial in design.trials:
        part = trial.payoff.part
        yield PlannedTrial(direction, run.held, part, trial.expected, trial.threshold)
