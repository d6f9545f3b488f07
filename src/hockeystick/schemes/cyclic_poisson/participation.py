"""Participations under cyclic Poisson sampling with a secret, uniform group."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = ["CyclicLaw"]


@dataclass(frozen=True, eq=False)
class CyclicLaw:
    """A uniform group, and a draw with probability `rate` in each of its steps."""

    rate: float
    groups: int
    steps: int

    @property
    def log_staying_out(self) -> float:
        """Of not being sampled in any step."""
        rounds = -(-self.steps // self.groups)
        return rounds * (math.log1p(-self.rate) if self.rate < 1 else -math.inf)

    @property
    def expected(self) -> FloatArray:
        """The same in every step."""
        return np.full(self.steps, self.rate / self.groups)

    @property
    def expected_squares(self) -> FloatArray:
        """A single example joins once or not at all."""
        return self.expected

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participation in each round."""
        from hockeystick.schemes.simulation.draw_kernels import cyclic_trajectories

        room = -(-self.steps // self.groups)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        cyclic_trajectories(rng, self.rate, self.groups, self.steps, where, number)
        return Trajectories(where, np.ones_like(where), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors; the array is used up."""
        from hockeystick.schemes.simulation.participation_kernels import cyclic_ratios

        losses = np.empty(factors.shape[0])
        factors *= self.rate
        cyclic_ratios(factors, self.rate, self.groups, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents."""
        from hockeystick.schemes.simulation.participation_kernels import cyclic_logs

        losses = np.empty(exponents.shape[0])
        log_miss = math.log1p(-self.rate) if self.rate < 1 else -math.inf
        cyclic_logs(exponents + math.log(self.rate), log_miss, self.groups, losses)
        return losses
