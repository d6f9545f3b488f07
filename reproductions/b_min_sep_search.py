"""What the tables of the b-min-sep paper share: the best strategy for a scheme, and its noise.

MSE is noise_multiplier^2 times the mean squared error of the strategy. For Monte Carlo rows the
best strategy is found with estimated noise, which is the "optimistic" number, and that one alone is
verified: choosing by estimates costs no privacy, because no data is touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import hockeystick as hs
from hockeystick.montecarlo.noise_estimate import quick_estimate
from hockeystick.strategies import Strategy

__all__ = ["KINDS", "Choice", "Target", "best_estimate", "best_proven", "estimated", "verified"]

# The paper's "approximately optimal solution", found without amplification, and the square root.
KINDS: dict[str, Callable[[int, int], Strategy]] = {
    "bsr": hs.strategies.bsr,
    "band_mf": hs.strategies.band_mf,
}


# Of each estimate while bands are searched: about 0.3 % of the error; the best is estimated anew.
SEARCH_DRAWS = 4_000
# An error that is so much larger at one number of bands is not made good by another one.
CLEARLY = 0.01


@dataclass(frozen=True)
class Choice:
    """A strategy, the noise it needs, and how that was found.

    `seconds` are those of all cores. `draws` is the number that was made; `relative_error` is the
    standard error of an estimated delta, not of the noise.
    """

    strategy: str
    bands: int
    noise_multiplier: float
    mse: float
    seconds: float
    seed: int | None = None
    draws: int | None = None
    relative_error: float | None = None


@dataclass(frozen=True)
class Target:
    """What the noise is to give, and the schemes it is for: `plan(strategy)` makes a plan."""

    epsilon: float
    delta: float
    plan: Callable[[Strategy], hs.Plan]
    steps: int


def cpu_seconds() -> float:
    """Of this process and of its workers that have ended, on all cores."""
    return sum(os.times()[:4])


def mse(noise_multiplier: float, strategy: Strategy) -> float:
    """What the tables are about."""
    return noise_multiplier**2 * strategy.mean_squared_error()


def best_proven(target: Target, bands: Sequence[int]) -> Choice:
    """The smallest proven error of `band_mf` with these numbers of bands."""
    found = []
    for number in bands:
        start = cpu_seconds()
        strategy = hs.strategies.band_mf(target.steps, number)
        plan = target.plan(strategy)
        noise = hs.calibrate(plan, epsilon=target.epsilon, delta=target.delta).noise_multiplier
        seconds = round(cpu_seconds() - start, 1)
        found.append(Choice("band_mf", number, noise, mse(noise, strategy), seconds))
    return min(found, key=_error)


def best_estimate(
    target: Target,
    bands: Sequence[int],
    *,
    first: int,
    guess: float,
    seed: int,
    kinds: Sequence[str] = tuple(KINDS),
) -> Choice:
    """The smallest estimated error over kinds of strategies and numbers of bands.

    The error falls with the number of bands and then rises, so the search walks from `first` to
    the neighbours until both are worse; the other kinds begin where the first one ended. `guess` is
    about the answer; `seconds` are those of the whole search.
    """
    start = cpu_seconds()
    best: Choice | None = None
    for kind in kinds:
        at = first if best is None else best.bands
        about = guess if best is None else best.mse
        found = _climb(target, kind, sorted(bands), first=at, guess=about, seed=seed, best=best)
        best = found if best is None else min(best, found, key=_error)
    assert best is not None
    best = estimated(target, best.strategy, best.bands, guess=best.mse, seed=seed)
    return replace(best, seconds=round(cpu_seconds() - start, 1))


def _climb(
    target: Target,
    kind: str,
    bands: Sequence[int],
    *,
    first: int,
    guess: float,
    seed: int,
    best: Choice | None,
) -> Choice:
    """The best number of bands for one kind of strategy; the first, if it is worse than `best`."""
    known: dict[int, Choice] = {}
    at = bands.index(first)
    if best is not None:
        known[at] = estimated(target, kind, first, guess=guess, seed=seed, draws=SEARCH_DRAWS)
        if known[at].mse > best.mse * (1 + CLEARLY):
            return known[at]
    while True:
        for near in (at, at - 1, at + 1):
            if 0 <= near < len(bands) and near not in known:
                about = known[at].mse if at in known else guess
                known[near] = estimated(
                    target, kind, bands[near], guess=about, seed=seed, draws=SEARCH_DRAWS
                )
        lowest = min(known, key=lambda index: known[index].mse)
        if lowest == at:
            return known[lowest]
        at = lowest


def estimated(
    target: Target, kind: str, bands: int, *, guess: float, seed: int, draws: int | None = None
) -> Choice:
    """The error of one strategy if estimates were exact; from so few draws where they suffice."""
    start = cpu_seconds()
    strategy = KINDS[kind](target.steps, bands)
    near = (guess / strategy.mean_squared_error()) ** 0.5
    if draws is not None:
        quick = quick_estimate(
            target.plan(strategy),
            epsilon=target.epsilon,
            delta=target.delta,
            start=near,
            draws=draws,
            seed=seed,
        )
        if quick is not None:
            seconds = round(cpu_seconds() - start, 1)
            return Choice(kind, bands, quick, mse(quick, strategy), seconds, seed=seed)
    found = hs.estimate_noise(
        target.plan(strategy),
        epsilon=target.epsilon,
        delta=target.delta,
        start=near,
        seed=seed,
    )
    return Choice(
        kind,
        bands,
        found.noise_multiplier,
        mse(found.noise_multiplier, strategy),
        round(cpu_seconds() - start, 1),
        seed=seed,
        relative_error=round(found.relative_error, 4),
    )


def verified(target: Target, estimate: Choice, *, draws: int | None, seed: int) -> Choice:
    """The error of the same strategy with noise that may be used."""
    start = cpu_seconds()
    strategy = KINDS[estimate.strategy](target.steps, estimate.bands)
    found = hs.calibrate(
        target.plan(strategy),
        epsilon=target.epsilon,
        delta=target.delta,
        method=hs.MonteCarlo(draws=draws, seed=seed),
        start=estimate.noise_multiplier,
    )
    return Choice(
        estimate.strategy,
        estimate.bands,
        found.noise_multiplier,
        mse(found.noise_multiplier, strategy),
        round(cpu_seconds() - start, 1),
        seed=seed,
        draws=found.guarantee.answer(delta=target.delta).details["draws"],
    )


def _error(choice: Choice) -> float:
    return choice.mse
