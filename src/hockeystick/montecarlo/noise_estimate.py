"""An estimate of the noise for a wanted guarantee, by pilot runs. It is no guarantee.

It also places the candidates of a verified calibration; a poor choice costs noise or draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hockeystick import _validate as check
from hockeystick.errors import CalibrationError
from hockeystick.guarantee import directions_for
from hockeystick.montecarlo import Execution
from hockeystick.montecarlo.drawing import check_simulated, open_drawer
from hockeystick.montecarlo.noise_by_tuples import (
    Effort,
    TupleCurve,
    most_noise,
    noise_by_tuples,
    offers_tuples,
    sensitivity_of,
)
from hockeystick.montecarlo.pilot import NoiseEstimate, noise_by_pilots
from hockeystick.montecarlo.verifier import Claim, Verifier
from hockeystick.plan import Plan

__all__ = [
    "CANDIDATES",
    "DEFAULT_DRAWS",
    "Candidates",
    "EstimatedNoise",
    "estimate_noise",
    "place_candidates",
    "quick_estimate",
    "tuple_draws",
]

# How close the search comes to the wanted delta, in logs: about the error of a pilot's mean.
CLOSE = 0.02


@dataclass(frozen=True)
class EstimatedNoise:
    """A noise multiplier at which delta was estimated.

    Attributes
    ----------
    noise_multiplier
        The estimate of the noise.
    estimated_delta, relative_error
        delta close to it, in the worst direction, and its standard error over its value.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.EstimatedNoise(1.5, estimated_delta=1e-5, relative_error=0.01).noise_multiplier
    1.5
    """

    noise_multiplier: float
    estimated_delta: float
    relative_error: float


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

    Nothing is proved or verified; for a noise to run with see `calibrate` with `MonteCarlo`. Draws
    come from proposals that make the rare event common, or are tuples of replicas, so that some ten
    thousand suffice for any delta (schemes/simulation).

    Parameters
    ----------
    plan, epsilon, delta
        The run, and the wanted guarantee.
    direction
        "both", "remove" or "add".
    start
        A guess at the answer.
    seed, execution
        As for `verify`.

    Returns
    -------
    EstimatedNoise
        The noise multiplier, and how well delta is known near it.

    Raises
    ------
    CalibrationError
        If no noise is found at which draws show this delta.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    >>> found = hs.estimate_noise(plan, epsilon=1.0, delta=0.001, start=1.3, seed=1)
    >>> found.relative_error < 0.05
    True
    """
    check_simulated(plan)
    claim = Claim(
        plan,
        check.positive("epsilon", epsilon),
        check.small_probability("delta", delta),
        directions_for(direction),
    )
    most = most_noise(claim)
    first = sensitivity_of(plan) / claim.epsilon**0.5 if start is None else start
    question: dict[str, Any] = {"estimate_noise": (epsilon, delta, direction)}
    with open_drawer(plan, execution=execution, seed=seed, **question) as drawer:
        verifier = Verifier(drawer)
        if offers_tuples(claim, first):
            found = noise_by_tuples(verifier, claim, aim=claim.delta, start=first, most=most)
            if found is not None:
                return _of_tuples(*found)
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
    # From there along the power with which delta falls.
    noise = near.noise * (claim.delta / near.delta) ** (1 / near.power)
    return EstimatedNoise(noise, near.delta, worst.relative_error)


def quick_estimate(
    plan: Plan, *, epsilon: float, delta: float, start: float | None, draws: int, seed: int | None
) -> float | None:
    """The same from few draws of tuples of replicas; None where they do not find it."""
    claim = Claim(plan, epsilon, delta, directions_for("both"))
    most = most_noise(claim)
    first = sensitivity_of(plan) / claim.epsilon**0.5 if start is None else start
    if not offers_tuples(claim, first):
        return None
    question: dict[str, Any] = {"quick_estimate": (epsilon, delta)}
    with open_drawer(plan, execution=None, seed=seed, **question) as drawer:
        found = noise_by_tuples(
            Verifier(drawer),
            claim,
            aim=delta,
            start=first,
            most=most,
            search=Effort(draws, fine=False),
        )
    return None if found is None else found[0]


def _of_tuples(noise: float, curves: list[TupleCurve]) -> EstimatedNoise:
    drawn = [curve for curve in curves if curve.draws > 0]
    worst = max(drawn, key=lambda curve: curve.delta(noise))
    error = (worst.relative_variance / worst.draws) ** 0.5
    return EstimatedNoise(noise, worst.delta(noise), error)


# Times 1/delta: some minutes for thousands of steps at delta = 1e-5. Draws of tuples of replicas,
# at any delta: half a per cent of noise or less, some seconds for thousands of steps. The need for
# them grows with the bound on a payoff over delta: from this ratio on as its root, so that the
# noise above the estimate grows likewise. Ratios above the largest are not drawn for.
DEFAULT_DRAWS, TUPLE_DRAWS = 100, 170_000
TUPLE_RATIO, LARGEST_RATIO = 30.0, 1e4


@dataclass(frozen=True)
class CandidateSettings:
    """Where candidates are placed. A poor choice costs noise or draws, never validity."""

    # Pilots search the noise with this part of the allowed delta, from this part of the proven
    # noise on; candidates are placed around it.
    aim: float = 0.9
    start: float = 0.7
    # Shares of the draws for an earlier, noisier candidate and for the last one.
    earlier_share: float = 0.15
    last_share: float = 0.8
    # Candidates lie on a grid of this ratio, finer than the 1 % of noise that verification costs,
    # from `below` steps under the noise of the pilots to `above` steps over it.
    ratio: float = 1.001
    below: int = 100
    above: int = 400


CANDIDATES = CandidateSettings()


def tuple_draws(near: NoiseEstimate) -> int:
    """More where payoffs may be far above delta."""
    ratios = [
        one.log_largest - math.log(one.mean) for pilot in near.pilots for one in pilot.statistics
    ]
    ratio = math.exp(min(max(ratios, default=0.0), math.log(LARGEST_RATIO)))
    return math.ceil(TUPLE_DRAWS * math.sqrt(max(ratio / TUPLE_RATIO, 1.0)))


class Candidates(NamedTuple):
    """Noises below the proven one, largest first, and the draws they are likely to take."""

    noises: tuple[float, ...]
    costs: tuple[float, ...]


def place_candidates(
    verifier: Verifier, claim: Claim, near: NoiseEstimate | None, *, proven: float, draws: float
) -> Candidates:
    """Place the candidates so that testing them takes about as many draws as given."""
    if near is None:
        return Candidates((), ())
    noise, pilots, power = near

    def cost(factor: float) -> float:
        designs = verifier.designs(claim, pilots, change=factor**power)
        return math.inf if designs is None else sum(design.cost for design in designs)

    grid = [CANDIDATES.ratio**i for i in range(-CANDIDATES.below, CANDIDATES.above)]
    last = _first_below(grid, CANDIDATES.last_share * draws, cost)
    if last is None:
        return Candidates((), ())
    earlier = _first_below(grid[last + 1 :], CANDIDATES.earlier_share * draws, cost)
    chosen = [last] if earlier is None else [last + 1 + earlier, last]
    noises = [noise * grid[i] for i in chosen]
    below = [i for i, candidate in enumerate(noises) if candidate < proven]
    return Candidates(tuple(noises[i] for i in below), tuple(cost(grid[chosen[i]]) for i in below))


def _first_below(grid: list[float], limit: float, cost: Callable[[float], float]) -> int | None:
    """The first entry of the grid that costs at most the limit; costs fall along it."""
    if not grid or cost(grid[-1]) > limit:
        return None
    low, high = -1, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(grid[middle]) <= limit else (middle, high)
    return high
