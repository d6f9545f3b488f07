"""Estimates of delta by simulation, for checks and comparisons. They are no guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import directions_for
from hockeystick.montecarlo import Execution
from hockeystick.montecarlo.concentration import interval
from hockeystick.montecarlo.drawing import check_simulated, open_drawer
from hockeystick.montecarlo.draws import Job, Payoff
from hockeystick.plan import Plan
from hockeystick.profile.resolution import Direction
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.simulation import runs_of

__all__ = [
    "Estimate",
    "estimate_delta",
    "estimate_profile",
    "estimate_profiles",
]


class Estimate(NamedTuple):
    """A mean of simulated draws with a confidence interval.

    Attributes
    ----------
    value
        The mean, an estimate of delta.
    low, high
        The interval, which misses the truth with probability at most `miss`.
    miss, draws
        That probability, and how many draws were made.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.Estimate(value=0.1, low=0.08, high=0.12, miss=1e-3, draws=2_000).high
    0.12
    """

    value: float
    low: float
    high: float
    miss: float
    draws: int


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
    Q for "add", where positive. The interval is Chernoff's, in its relative-entropy form. A draw
    costs O(steps * picks) for random allocation, O(bins^2) for balls-in-bins and O(steps * bands)
    for the schemes with a random number of participations; memory does not grow with the draws.

    Parameters
    ----------
    plan, noise_multiplier, epsilon
        The run, its noise, and where delta is estimated.
    direction
        "remove" or "add".
    draws, miss
        How many draws are made, and the probability with which the interval misses the truth.
    rng
        A generator or a seed.

    Returns
    -------
    Estimate
        The mean of the draws, with its interval. It is no guarantee.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> found = hs.estimate_delta(plan, noise_multiplier=1.0, epsilon=0.5, draws=2_000, rng=1)
    >>> found.low < found.value < found.high
    True
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

    For users it is the worst number of examples at each epsilon.

    Parameters
    ----------
    plan, noise_multiplier, epsilons
        The run, its noise, and where delta is estimated.
    direction
        "both", "remove" or "add".
    draws, miss
        How many draws are made for each direction, and the probability with which each interval
        misses its own truth.
    seed, execution
        As for `verify`.

    Returns
    -------
    dict
        For each direction a list with an `Estimate` for each epsilon.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> options = {"epsilons": [0.5, 1.0], "draws": 2_000, "seed": 1}
    >>> half, one = hs.estimate_profile(plan, noise_multiplier=1.0, **options)["remove"]
    >>> half.value > one.value
    True
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

    Parameters
    ----------
    noise_multipliers
        At least one.
    plan, epsilons, direction, draws, miss, seed, execution
        As for `estimate_profile`.

    Returns
    -------
    list of dict
        What `estimate_profile` returns, for each noise multiplier.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> options = {"epsilons": [0.5], "draws": 2_000, "seed": 1}
    >>> less, more = hs.estimate_profiles(plan, noise_multipliers=[1.0, 2.0], **options)
    >>> less["remove"][0].value > more["remove"][0].value
    True
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
    question: dict[str, Any] = {"estimate": (levels, questions, direction, draws)}
    with open_drawer(plan, execution=execution, seed=seed, **question) as drawer:
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
