"""Short runs of every simulated scheme, each with the list of all ways to take part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import hockeystick as hs
from hockeystick import strategies
from hockeystick.schemes.simulation import Simulation
from hockeystick.schemes.simulation.participation_run import ParticipationRun
from hockeystick.strategies import Strategy
from references.participation_patterns import (
    Patterns,
    bin_patterns,
    cyclic_patterns,
    min_sep_patterns,
    user_patterns,
)

__all__ = ["SHORT_RUNS", "ShortRun", "banded_matrix", "prepared"]


@dataclass(frozen=True)
class ShortRun:
    """A plan for one example, or for a user with `held` of them, and all patterns."""

    name: str
    plan: hs.Plan
    patterns: Patterns
    held: int = 1

    @property
    def means(self) -> NDArray[np.float64]:
        """The vectors whose inner products with the outputs are simulated, as columns."""
        matrix = self.plan.strategy.to_matrix()
        scheme = self.plan.sampling
        if not isinstance(scheme, hs.BallsInBins):
            return matrix
        used = min(scheme.bins, self.plan.steps)
        return np.array([matrix[:, first :: scheme.bins].sum(axis=1) for first in range(used)]).T


def banded_matrix(steps: int, bands: int, *, seed: int = 5) -> Strategy:
    """A strategy that is banded but not Toeplitz."""
    entries = np.random.default_rng(seed).uniform(0.2, 1.0, (steps, steps))
    return strategies.from_matrix(np.tril(entries) - np.tril(entries, -bands))


def prepared(run: ShortRun, *, noise: float, present: bool = True) -> ParticipationRun:
    """The simulation of a run."""
    found = Simulation(
        plan=run.plan, noise_multipliers=(noise,), present=present, held=run.held
    ).prepared()
    assert isinstance(found, ParticipationRun)
    return found


def _run(
    name: str, scheme: hs.Sampling, strategy: Strategy, patterns: Patterns, held: int = 1
) -> ShortRun:
    plan = hs.Plan(sampling=scheme, steps=strategy.steps, strategy=strategy)
    return ShortRun(name, plan, patterns, held)


def _min_sep(
    name: str, strategy: Strategy, *, rate: float, separation: int, warm_start: bool
) -> ShortRun:
    scheme = hs.MinSep(rate=rate, separation=separation, warm_start=warm_start)
    patterns = min_sep_patterns(strategy.steps, rate=rate, separation=separation, warm=warm_start)
    return _run(name, scheme, strategy, patterns)


def _users(name: str, strategy: Strategy, *, held: int, separation: int, warm_up: int) -> ShortRun:
    scheme = hs.UserMinSep(rate=0.23, separation=separation, examples_per_user=3, warm_up=warm_up)
    patterns = user_patterns(
        strategy.steps, rate=0.23, separation=separation, examples=held, warm_up=warm_up
    )
    return _run(name, scheme, strategy, patterns, held)


def _conjectured(name: str, strategy: Strategy, *, held: int, warm_up: int) -> ShortRun:
    scheme = hs.ConjecturedUserMinSep(rate=0.23, separation=3, examples_per_user=3, warm_up=warm_up)
    patterns = user_patterns(
        strategy.steps, rate=0.23, separation=3, examples=held, by_draws=False, warm_up=warm_up
    )
    return _run(name, scheme, strategy, patterns, held)


def _cyclic(name: str, strategy: Strategy, *, rate: float) -> ShortRun:
    scheme = hs.CyclicPoisson(rate=rate, groups=3, random_phase=True)
    return _run(name, scheme, strategy, cyclic_patterns(strategy.steps, rate=rate, groups=3))


def _bins(name: str, strategy: Strategy, *, bins: int) -> ShortRun:
    patterns = bin_patterns(strategy.steps, bins=bins)
    return _run(name, hs.BallsInBins(bins=bins), strategy, patterns)


def _poisson(name: str, strategy: Strategy, *, rate: float) -> ShortRun:
    patterns = min_sep_patterns(strategy.steps, rate=rate, separation=1)
    return _run(name, hs.Poisson(rate=rate), strategy, patterns)


TEN, SIX = strategies.bsr(10, bands=3), strategies.band_mf(6, bands=3)
UNEQUAL = banded_matrix(9, 3)

SHORT_RUNS = (
    _min_sep("cold", TEN, rate=0.3, separation=3, warm_start=False),
    _min_sep("warm", TEN, rate=0.3, separation=3, warm_start=True),
    _min_sep(
        "warm, few bands", strategies.bsr(8, bands=2), rate=0.6, separation=3, warm_start=True
    ),
    _min_sep("cold, matrix", UNEQUAL, rate=0.4, separation=3, warm_start=False),
    _min_sep("warm, matrix", UNEQUAL, rate=0.4, separation=3, warm_start=True),
    _min_sep("rate 1, cold", TEN, rate=1.0, separation=3, warm_start=False),
    _min_sep("rate 1, warm", SIX, rate=1.0, separation=3, warm_start=True),
    _poisson("poisson", strategies.identity(10), rate=0.2),
    _poisson("poisson, matrix", banded_matrix(8, 1), rate=0.2),
    *(_users(f"user with {k}", SIX, held=k, separation=3, warm_up=0) for k in (1, 2, 3)),
    _users("user after one round", TEN, held=2, separation=3, warm_up=1),
    _users("user after many rounds", SIX, held=3, separation=3, warm_up=3),
    _users("user, matrix", banded_matrix(6, 3), held=2, separation=3, warm_up=2),
    _users("user without rest", strategies.identity(7), held=3, separation=1, warm_up=0),
    _conjectured("conjectured", SIX, held=3, warm_up=0),
    _conjectured("conjectured after rounds", TEN, held=2, warm_up=4),
    _conjectured("conjectured, matrix", banded_matrix(6, 3), held=2, warm_up=1),
    _cyclic("cyclic", TEN, rate=0.4),
    _cyclic("cyclic, matrix", UNEQUAL, rate=0.7),
    _cyclic("cyclic, rate 1", TEN, rate=1.0),
    _bins("bins", TEN, bins=3),
    _bins("bins, overlapping", strategies.bsr(9, bands=9), bins=3),
    _bins("bins, matrix", banded_matrix(7, 2), bins=3),
    _bins("bins beyond the end", strategies.bsr(4, bands=2), bins=6),
)
