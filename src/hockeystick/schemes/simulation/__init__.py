"""A run whose privacy loss is drawn: what is simulated, and what a draw is.

Draws of tuples of replicas have a proven bound on their payoffs. For an integer order a the a-th
power of LR = sum over x of p(x) L_x is a sum over a-tuples of trajectories, and E_Q[LR^a f] = sum
over tuples of w * E[f(y)], y drawn around the *sum* of their means, w = p(x_1) ... p(x_a) e^(sum
over pairs <C x_j, C x_k>/s^2). With f = LR^(1-a) (1 - g/LR)+ this is delta of the remove direction,
g = e^epsilon. If tuples are drawn with probability u/Z, u >= w pointwise with the known total Z,
the payoff

    Z (w/u) LR^(1-a) (1 - g/LR)+   lies in   [0, M],   M = Z g^(1-a) (a-1)^(a-1) / a^a,

because LR^(1-a) (1 - g/LR) is largest at LR = g a/(a-1). M is the bound on delta that the moment of
order a gives, and the mean of the payoffs is delta itself (mathematics.md, "Draws of replicas").
A scheme offers a `TupleSource`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.capabilities import Missing, SampledRun, Simulator, offered, reason_of
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = [
    "BLOCK",
    "Drawn",
    "Proposal",
    "Replicas",
    "Runner",
    "Simulation",
    "TupleDraws",
    "TupleProgramme",
    "TupleSource",
    "log_largest_payoff",
    "missing_simulation",
    "runs_of",
    "simulation_remark",
]


class Replicas(NamedTuple):
    """Draws of tuples of this order for a noise, in which at most `resting` replicas are followed.

    A programme for which nothing has to be left out ignores `resting`.
    """

    order: int
    resting: int
    noise_multiplier: float


class TupleDraws(NamedTuple):
    """Drawn tuples: the steps of all replicas with their numbers, log Z w/u, and log e^(pairs).

    `attractions` are the sums over pairs of <C x_j, C x_k>/s^2 at the noise s of the programme;
    those of another noise are in proportion.
    """

    trajectories: Trajectories
    log_weights: FloatArray
    attractions: FloatArray

    def payoff_weights(
        self, replicas: Replicas, levels: tuple[float, ...], losses: FloatArray
    ) -> FloatArray:
        """log of Z w/u LR^(1-a) by noise level, the pairs of w being those of the level."""
        weights = self.log_weights + (1 - replicas.order) * losses
        possible = self.attractions > -math.inf
        for level, noise in enumerate(levels):
            if noise != replicas.noise_multiplier:
                more = (replicas.noise_multiplier / noise) ** 2 - 1
                weights[level, possible] += more * self.attractions[possible]
        return weights


class TupleProgramme(Protocol):
    """Draws of tuples for one order and noise."""

    @property
    def replicas(self) -> Replicas:
        """The order and the noise."""

    @property
    def log_largest(self) -> float:
        """log of a bound on the weights Z w/u."""

    def draw(self, draws: int, rng: np.random.Generator) -> TupleDraws:
        """Independent tuples."""


class TupleSource(Protocol):
    """Where the programmes of one run come from; what a scheme offers."""

    def replicas(
        self, order: int, noise_multiplier: float, *, fine: bool = False
    ) -> Replicas | None:
        """The programme of this order that is affordable; None if there is none.

        A `fine` one may take seconds, where that makes its bound smaller.
        """

    def programme(self, replicas: Replicas) -> TupleProgramme | None:
        """Ready to draw; None if floating point does not suffice."""

    def log_largest(self, replicas: Replicas) -> float:
        """log of the bound Z w/u on the weights; infinite if there is none in floating point."""
        found = self.programme(replicas)
        return math.inf if found is None else found.log_largest


def log_largest_payoff(log_largest: float, order: int, epsilon: float) -> float:
    """log M for weights of at most e^log_largest."""
    conversion = (order - 1) * math.log(order - 1) - order * math.log(order)
    return log_largest - (order - 1) * epsilon + conversion


# Numbers in an array of draws by steps: 800 kB, within the second level of cache.
BLOCK = 100_000


class Drawn(NamedTuple):
    """Draws of whole runs: log LR by noise level and draw, and the logarithm of their weight.

    The weight is the density of the run over that of the proposal that was drawn from, or what
    takes its place for tuples of replicas; without either it is 1. `log_references` are the weights
    that the draws would have if they came from another proposal, the simulation's `reference`.
    Where they do not matter they are 0.
    """

    losses: FloatArray
    log_weights: FloatArray | None = None
    log_references: FloatArray | None = None


class Proposal(NamedTuple):
    """Draws that are not from the run itself but from one with larger losses.

    A run with the example has its means scaled by `scale` and moved by `shift` times the expected
    mean; one without it, whose mean is zero, is moved alone, and `scale` is 0
    (participation_run.py).
    """

    scale: float
    shift: float


class Runner(Protocol):
    """A simulation, prepared for drawing."""

    @property
    def takes_proposals(self) -> bool:
        """Whether draws may come from a proposal."""

    def draws(self, count: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """log LR of `count` runs, a block at a time."""

    def log_largest_payoff(self, epsilon: float) -> float:
        """log of a bound on weight times hockey stick, over all outcomes; 0 without a proposal.

        The hockey stick of a draw is 1 - e^epsilon / LR with the example and 1 - e^epsilon LR
        without it, where positive. Infinite if there is no bound for the proposal.
        """

    def shift_for(self, loss: float) -> float:
        """The shift of a proposal that moves the loss of the only noise level about this far."""

    def log_ratios(self, products: FloatArray) -> FloatArray:
        """log LR of outputs that were observed, at the only noise level.

        `products` has a row for each run: the inner products of its outputs C x + s z with the
        columns of C, in units of the clip norm.
        """

    @property
    def tuples(self) -> TupleSource | None:
        """Programmes that draw tuples of replicas; None if there are none."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A run with the example (`present`) or without it, with Gaussian noise of several levels.

    For user-level privacy the user has `held` examples. A `proposal` belongs to a single level, and
    so does a `reference`, another proposal whose density is wanted at the same draws. Densities are
    computed where they may matter: where log LR is above `least_loss` with the example, or below
    minus it without. `replicas` are draws of tuples in the place of a proposal, at any levels near
    their own noise.
    """

    plan: SampledRun
    noise_multipliers: tuple[float, ...]
    present: bool
    held: int = 1
    proposal: Proposal | None = None
    reference: Proposal | None = None
    replicas: Replicas | None = None
    least_loss: float = -math.inf

    def prepared(self) -> Runner:
        """Ready to draw; memory does not grow with the number of draws."""
        return offered(self.plan.sampling.simulation(self.plan)).prepare(self)


def _simulator(plan: SampledRun) -> Simulator | Missing:
    if plan.mechanism is not None:
        return Missing("only the Gaussian mechanism is simulated")
    if plan.adjacency != "add-remove":
        return Missing("runs are simulated with an example that is added or removed")
    return plan.sampling.simulation(plan)


def missing_simulation(plan: SampledRun) -> str | None:
    """Why the plan cannot be simulated, as a clause; None if it can."""
    return reason_of(_simulator(plan))


def simulation_remark(plan: SampledRun) -> str | None:
    """What is to be known about a simulation of the plan, in a clause; None if nothing."""
    return offered(_simulator(plan)).remark


def runs_of(plan: SampledRun, *, present: bool) -> list[Simulation]:
    """Everything whose worst case is the plan's, without noise levels yet.

    That is one run for example-level privacy; for users one for each number of examples that a user
    may have, because the one with the most need not be the worst.
    """
    return [
        Simulation(plan=plan, noise_multipliers=(), present=present, held=number)
        for number in offered(_simulator(plan)).held
    ]
