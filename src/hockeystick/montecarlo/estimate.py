"""Direct simulation of a run: estimates, for checks and comparisons. They are no guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import CalibrationError, InvalidParameter
from hockeystick.guarantee import directions_for
from hockeystick.montecarlo.concentration import interval
from hockeystick.montecarlo.drawing import check_simulated, open_drawer
from hockeystick.montecarlo.draws import Job, Payoff
from hockeystick.montecarlo.pilot import noise_by_pilots
from hockeystick.montecarlo.settings import Execution
from hockeystick.montecarlo.verifier import Claim, Verifier
from hockeystick.plan import Plan
from hockeystick.profile.refinement import Direction
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.simulation import runs_of

__all__ = [
    "Estimate",
    "EstimatedNoise",
    "estimate_delta",
    "estimate_noise",
    "estimate_profile",
    "estimate_profiles",
]

# How close an estimated noise comes to the wanted delta, as a relative distance.
CLOSE = 0.02


class Estimate(NamedTuple):
    """A mean of simulated draws, and an interval that misses the truth with the stated chance."""

    value: float
    low: float
    high: float
    miss: float
    draws: int


@dataclass(frozen=True)
class EstimatedNoise:
    """A noise multiplier whose delta was estimated, in the worst direction, with standard error."""

    noise_multiplier: float
    estimated_delta: float
    relative_error: float


def estimate_delta(
    plan: Plan,
    *,
    noise_multiplier: float,
    epsilon: float,
    direction: str = "remove",
    draws: int = 100_000,
    miss: float = 1e-3,
    rng: RandomSource = None,
) -> Estimate:
    """delta(epsilon) of a run with Gaussian noise in one direction, by simulation.

    Each draw is a variable in [0, 1]: 1 - e^epsilon/LR under P for "remove", 1 - e^epsilon LR under
    Q for "add", where positive. The interval is Hoeffding's, in its relative-entropy form. A draw
    costs O(steps * picks) for random allocation, O(bins^2) for balls-in-bins and O(steps * bands)
    for the schemes with a random number of participations; memory does not grow with the draws.
    """
    check.choice("direction", direction, ("remove", "add"), "'remove' or 'add'")
    (side,) = directions_for(direction)
    seed = int(generator(rng).integers(2**63))
    found = estimate_profile(
        plan,
        noise_multiplier=noise_multiplier,
        epsilons=[epsilon],
        direction=direction,
        draws=draws,
        miss=miss,
        seed=seed,
    )
    return found[side][0]


def estimate_profile(
    plan: Plan,
    *,
    noise_multiplier: float,
    epsilons: Sequence[float],
    direction: str = "both",
    draws: int = 100_000,
    miss: float = 1e-3,
    seed: int | None = None,
    execution: Execution | None = None,
) -> dict[Direction, list[Estimate]]:
    """delta at many epsilons from the same draws, for each direction, with an interval for each.

    For users it is the worst number of examples at each epsilon. Each interval misses its own truth
    with probability `miss`.
    """
    (found,) = estimate_profiles(
        plan,
        noise_multipliers=[noise_multiplier],
        epsilons=epsilons,
        direction=direction,
        draws=draws,
        miss=miss,
        seed=seed,
        execution=execution,
    )
    return found


def estimate_profiles(
    plan: Plan,
    *,
    noise_multipliers: Sequence[float],
    epsilons: Sequence[float],
    direction: str = "both",
    draws: int = 100_000,
    miss: float = 1e-3,
    seed: int | None = None,
    execution: Execution | None = None,
) -> list[dict[Direction, list[Estimate]]]:
    """`estimate_profile` at several noise levels, which share the draws and most of their cost.

    Participations and standard normal noise are drawn once; a level adds one recursion. Estimates
    at different levels are therefore not independent, and differences between them are smoother
    than each by itself.
    """
    check_simulated(plan)
    levels = tuple(check.positive("noise_multiplier", one) for one in noise_multipliers)
    questions = tuple(Payoff(check.at_least("epsilon", one, 0.0)) for one in epsilons)
    for name, given in {"noise_multipliers": levels, "epsilons": questions}.items():
        if not given:
            raise InvalidParameter(name, "at least one number", list(given))
    draws = check.positive_integer("draws", draws)
    miss = check.small_probability("miss", miss)
    found: list[dict[Direction, list[Estimate]]] = [{} for _ in levels]
    asked: dict[str, Any] = {"estimate": (levels, questions, direction, draws)}
    with open_drawer(plan, execution=execution, seed=seed, **asked) as drawer:
        for side in directions_for(direction):
            means = []
            for number, run in enumerate(runs_of(plan, present=side == "remove")):
                job = Job(
                    replace(run, noise_multipliers=levels),
                    questions,
                    draws,
                    drawer.seed,
                    (int(side == "add"), number),
                )
                means.append(drawer.sums(job, text=f"Direction {side}").means)
            worst = np.max(means, axis=0)
            share = miss / len(means)
            for level, one in enumerate(found):
                one[side] = [
                    Estimate(value, *interval(value, draws=draws, miss=share), miss, draws)
                    for value in worst[:, level].tolist()
                ]
    return found


def estimate_noise(
    plan: Plan,
    *,
    epsilon: float,
    delta: float,
    direction: str = "both",
    start: float | None = None,
    seed: int | None = None,
    execution: Execution | None = None,
) -> EstimatedNoise:
    """About the noise at which delta(epsilon) is `delta`: what exact accounting would give.

    Nothing is proved or verified; for a noise to run with see `calibrate(method="monte-carlo")`.
    Draws come from proposals that make the rare event common, so that some ten thousand suffice for
    any delta (schemes/simulation/participation_run.py). `start` is a guess at the answer.
    """
    check_simulated(plan)
    claim = Claim(
        plan,
        check.positive("epsilon", epsilon),
        check.small_probability("delta", delta),
        directions_for(direction),
    )
    scheme = plan.sampling
    sensitivity = scheme.most_copies * plan.strategy.sensitivity(
        separation=scheme.least_gap, participations=scheme.most_participations(plan.steps)
    )
    most = 100.0 * sensitivity / min(claim.epsilon, 1.0)
    first = float(sensitivity) / claim.epsilon**0.5 if start is None else start
    asked: dict[str, Any] = {"estimate_noise": (epsilon, delta, direction)}
    with open_drawer(plan, execution=execution, seed=seed, **asked) as drawer:
        verifier = Verifier(drawer)
        near = noise_by_pilots(
            lambda noise, number: verifier.pilots(claim, noise, stream=(0, number)),
            aim=claim.delta,
            most=most,
            start=first,
            close=CLOSE,
        )
    if near is None:
        raise CalibrationError(
            f"No noise multiplier was found at which draws show delta = {delta:g} at "
            f"epsilon = {epsilon:g}."
        )
    worst = max(near.pilots, key=lambda pilot: pilot.mean)
    # The rest of the way along the power with which delta falls there.
    noise = near.noise * (claim.delta / near.delta) ** (1 / near.power)
    return EstimatedNoise(noise, near.delta, worst.relative_error)
