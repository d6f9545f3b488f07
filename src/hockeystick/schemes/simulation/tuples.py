"""Draws with a proven bound on their payoffs: tuples of replicas.

For an integer order a the a-th power of LR = sum over x of p(x) L_x is a sum over a-tuples of
trajectories, and E_Q[LR^a f] = sum over tuples of w * E[f(y)], y drawn around the *sum* of their
means, w = p(x_1) ... p(x_a) e^(sum over pairs <C x_j, C x_k>/s^2). With f = LR^(1-a) (1 - g/LR)+
this is delta of the remove direction, g = e^epsilon. If tuples are drawn with probability u/Z,
u >= w pointwise with the known total Z, the payoff

    Z (w/u) LR^(1-a) (1 - g/LR)+   lies in   [0, M],   M = Z g^(1-a) (a-1)^(a-1) / a^a,

because LR^(1-a) (1 - g/LR) is largest at LR = g a/(a-1). M is the bound on delta that the moment of
order a gives, and the mean of the payoffs is delta itself (mathematics.md, "Draws of replicas").
A scheme offers a `TupleSource`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = ["Replicas", "TupleDraws", "TupleProgramme", "TupleSource", "log_largest_payoff"]


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

    def replicas(self, order: int, noise_multiplier: float) -> Replicas | None:
        """The programme of this order that is affordable; None if there is none."""

    def log_largest(self, replicas: Replicas) -> float:
        """log of the bound Z w/u on the weights; infinite if there is none in floating point."""

    def programme(self, replicas: Replicas) -> TupleProgramme | None:
        """Ready to draw; None if floating point does not suffice."""


def log_largest_payoff(log_largest: float, order: int, epsilon: float) -> float:
    """log M for weights of at most e^log_largest."""
    conversion = (order - 1) * math.log(order - 1) - order * math.log(order)
    return log_largest - (order - 1) * epsilon + conversion
