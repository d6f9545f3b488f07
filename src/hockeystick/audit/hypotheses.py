"""How the projections of a run may have come about, and their likelihood.

A canary is a gradient of length clip norm in a direction that no other gradient has. Along it, and
in units of the clip norm, a run releases p = x + C^-1 s z: x_t is 1 if the canary was in batch t.
So C p = C x + s z is one draw of the pair whose divergence the accountant bounds, with the example
(a member) or without it, and its density over that of the noise is the plan's likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import HockeystickError
from hockeystick.plan import Plan
from hockeystick.schemes import BallsInBins, Missing, Poisson, RandomAllocation, Sampling
from hockeystick.schemes.simulation import Simulation, missing_simulation
from hockeystick.strategies import Strategy, identity

__all__ = ["Hypothesis", "alternatives", "decorrelated", "log_ratios", "other_batches"]

# Participation rates are read off the expected batch size of so many examples.
MANY = 1_000_000


@dataclass(frozen=True)
class Hypothesis:
    """A plan, its noise, and how often a participation counts.

    Attributes
    ----------
    name
        In a clause: what was done.
    plan
        Its scheme and strategy take the place of those that were planned.
    noise_multiplier
        The standard deviation of Z.
    amplitude
        The length of the gradient that a participation adds, in clip norms; 0 for none.
    """

    name: str
    plan: Plan
    noise_multiplier: float
    amplitude: float = 1.0

    def log_densities(self, projections: FloatArray, *, members: bool) -> FloatArray:
        """The log density of each row, up to a constant that all hypotheses share."""
        outputs = decorrelated(self.plan.strategy, projections)
        noise = self.noise_multiplier
        found = -np.einsum("ij,ij->i", outputs, outputs) / (2 * noise**2)
        found -= self.plan.steps * math.log(noise) - _log_determinant(self.plan.strategy)
        if members and self.amplitude > 0:
            scaled = outputs / self.amplitude
            found += log_ratios(self.plan, noise / self.amplitude, scaled)
        result: FloatArray = found
        return result


def log_ratios(plan: Plan, noise_multiplier: float, outputs: FloatArray) -> FloatArray:
    """log LR of each row of C p, with the example over without it.

    Exact for schemes that offer a simulation whose participations do not overlap, and where the
    steps of an example are known. Otherwise a score: the first-order term of log LR, from the
    probability of each step alone, or what the simulation offers.
    """
    correlated = not plan.strategy.is_identity
    products = outputs @ plan.strategy.to_matrix() if correlated else outputs
    if missing_simulation(plan) is None:
        run = Simulation(plan=plan, noise_multipliers=(noise_multiplier,), present=True)
        return run.prepared().log_ratios(np.ascontiguousarray(products))
    if plan.sampling.participation_known and plan.sampling.least_gap == 1:
        mean = plan.strategy.to_matrix().sum(axis=1)
        exact: FloatArray = (outputs @ mean - mean @ mean / 2) / noise_multiplier**2
        return exact
    score: FloatArray = _rate(plan.sampling) * products.sum(axis=1) / noise_multiplier**2
    return score


def decorrelated(strategy: Strategy, projections: FloatArray) -> FloatArray:
    """Rows of C p: independent noise, and the columns of the participations."""
    if strategy.is_identity:
        return projections
    found: FloatArray = projections @ strategy.to_matrix().T
    return found


def alternatives(plan: Plan, noise_multiplier: float) -> Iterator[Hypothesis]:
    """What the plan is tested against beside its noise: participation, batches, correlation."""
    own = (plan, noise_multiplier)
    yield Hypothesis("gradients of canaries count twice where they take part", *own, 2.0)
    yield Hypothesis("gradients of canaries have half the clip norm", *own, 0.5)
    yield Hypothesis("members did not take part", *own, 0.0)
    if plan.correlated:
        independent = replace(plan, strategy=identity(plan.steps))
        yield Hypothesis("noise that is not correlated", independent, noise_multiplier)
    own_rate = _rate(plan.sampling)
    others = [*other_batches(plan)]
    if own_rate <= 0.5:
        faster = plan.sampling.at_rate(2 * own_rate)
        twice = Poisson(rate=2 * own_rate) if isinstance(faster, Missing) else faster
        others.append(("members that take part twice as often", twice))
    for name, sampling in others:
        try:
            other = replace(plan, sampling=sampling)
        except HockeystickError:
            continue
        if missing_simulation(other) is None:
            yield Hypothesis(name, other, noise_multiplier)


def other_batches(plan: Plan) -> Iterator[tuple[str, Sampling]]:
    """Other ways to draw batches of the same size."""
    sampling = plan.sampling
    rate = _rate(sampling)
    found: list[tuple[str, Sampling]] = [("Poisson batches", Poisson(rate=rate))]
    length = round(1 / rate)
    if length > 1:
        shuffled = RandomAllocation(picks=1, out_of=length, truncate=True)
        found += [
            ("batches that are shuffled anew in every epoch", shuffled),
            ("the same shuffled batches in every epoch", BallsInBins(bins=length)),
        ]
    return (one for one in found if one[1] != sampling)


def _rate(sampling: Sampling) -> float:
    """The probability with which an example is in a batch, averaged over the steps."""
    return float(sampling.expected_batch_size(MANY)) / MANY


def _log_determinant(strategy: Strategy) -> float:
    if strategy.is_identity:
        return 0.0
    return float(np.linalg.slogdet(strategy.to_matrix())[1])
