"""Testing a claim (epsilon, delta) before a run; the chance of a wrong acceptance is inside delta.

Estimate-verify-release (Wang et al. 2023; b_min_sep, Appendix A and Theorem A.1): a mechanism that
is run only after it was accepted, by a verifier that accepts one that is not (epsilon, d)-DP with
probability at most q, is (epsilon, d + q (1 - d))-DP. Both directions are verified, and for users
every number of examples; a false claim is false for one of these, so their chances do not add up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hockeystick.montecarlo.drawing import Drawer
from hockeystick.montecarlo.pilot import Pilot, Pilots
from hockeystick.montecarlo.tally import Tally
from hockeystick.montecarlo.trials import Design, Trial, cheapest_design
from hockeystick.montecarlo.work import Job
from hockeystick.plan import Plan
from hockeystick.profile.refinement import Direction
from hockeystick.schemes.simulation import Simulation, runs_of

__all__ = ["Claim", "Outcome", "Verifier"]

# The part of delta that pays for a wrong acceptance.
MISS_SHARE = 0.01
# What rounding may have taken from a mean, relatively.
ROUNDING = 1e-8
# Streams of random numbers: pilots and trials never share one.
PILOT, TRIAL = 0, 1


@dataclass(frozen=True)
class Claim:
    """That a plan is (epsilon, delta)-DP, at a noise that is still to be named."""

    plan: Plan
    epsilon: float
    delta: float
    directions: tuple[Direction, ...]

    @property
    def miss(self) -> float:
        """The probability q with which a mechanism that is not (epsilon, allowed)-DP may pass."""
        return MISS_SHARE * self.delta

    @property
    def allowed(self) -> float:
        """d with d + q (1 - d) = delta."""
        return (self.delta - self.miss) / (1 - self.miss)

    def runs(self, noise: float) -> list[Simulation]:
        """What has to be tested: each direction, and each number of examples of a user."""
        return [
            replace(run, noise_multipliers=(noise,))
            for direction in self.directions
            for run in runs_of(self.plan, present=direction == "remove")
        ]


class Outcome(NamedTuple):
    """Whether all trials passed; if not, the first that did not, and the mean it saw."""

    accepted: bool
    draws: int
    failed: Trial | None = None
    mean: float = 0.0


@dataclass(frozen=True)
class Verifier:
    """Looks ahead, lays out trials and makes them."""

    drawer: Drawer
    seed: int

    def look(self, claim: Claim, noise: float, *, stream: tuple[int, ...]) -> list[Pilot]:
        """A pilot for each run of the claim."""
        pilots = Pilots(self.drawer, self.seed)
        return [
            pilots.look(run, claim.epsilon, stream=(PILOT, *stream, number))
            for number, run in enumerate(claim.runs(noise))
        ]

    @staticmethod
    def designs(claim: Claim, pilots: list[Pilot], *, change: float = 1.0) -> list[Design] | None:
        """Trials for each run; None if some run is too close to the bound to pass."""
        found = [
            cheapest_design(pilot, allowed=claim.allowed, miss=claim.miss, change=change)
            for pilot in pilots
        ]
        known = [design for design in found if design is not None]
        return known if len(known) == len(found) else None

    def test(self, designs: list[Design], *, text: str, stream: tuple[int, ...]) -> Outcome:
        """Make the trials one after the other, up to the first that fails."""
        trials = [trial for design in designs for trial in design.trials]
        draws = 0
        for number, trial in enumerate(trials):
            job = Job(
                trial.simulation, (trial.payoff,), trial.draws, self.seed, (TRIAL, *stream, number)
            )
            name = f"{text}, trial {number + 1} of {len(trials)}"
            tally = self.drawer.tally(job, text=name, enough=_failed_already(trial))
            draws += tally.draws
            mean = float(tally.totals[0, 0]) / trial.draws
            if not mean * (1 + ROUNDING) <= trial.threshold:
                return Outcome(False, draws, trial, float(tally.means[0, 0]))
        return Outcome(True, draws)


def _failed_already(trial: Trial) -> Callable[[Tally], bool]:
    """Payoffs are not negative, so a sum that is too large stays so."""

    def failed(tally: Tally) -> bool:
        return not float(tally.totals[0, 0]) / trial.draws <= trial.threshold

    return failed
