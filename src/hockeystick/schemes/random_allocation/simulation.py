"""Losses of random allocation with independent noise, step by step.

[FeldmanShenfeld25, Lemma D.1], and its counterpart for several picks and blocks: the likelihood
ratio of a block is the average over all sets of `picks` steps of the product of their likelihood
ratios.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.random_allocation import RandomAllocation
from hockeystick.schemes.simulation import BLOCK, Drawn, Simulation
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = ["AllocationLaw", "AllocationRun"]


@dataclass(frozen=True)
class AllocationRun:
    """A run with or without the example: log LR, O(steps * picks) for each draw and noise level."""

    scheme: RandomAllocation
    steps: int
    simulation: Simulation
    takes_proposals: bool = False
    tuples: None = None

    def draws(self, count: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """log LR of whole runs, in groups of draws that fit into memory."""
        out_of = self.scheme.out_of
        size = max(1, BLOCK // out_of)
        for start in range(0, count, size):
            rows = min(size, count - start)
            losses = np.zeros((len(self.simulation.noise_multipliers), rows))
            for begin in range(0, self.steps, out_of):
                losses += self._block(min(out_of, self.steps - begin), rows, rng)
            yield Drawn(losses)

    def log_largest_payoff(self, epsilon: float) -> float:
        """Draws come from the run itself, so that payoffs are hockey sticks."""
        return 0.0

    def shift_for(self, loss: float) -> float:
        """There are no proposals."""
        return 0.0

    def log_ratios(self, products: FloatArray) -> FloatArray:
        """Block by block."""
        (deviation,) = self.simulation.noise_multipliers
        losses = (products - 0.5) / deviation**2
        picks, out_of = self.scheme.picks, self.scheme.out_of
        total = np.zeros(len(products))
        for begin in range(0, self.steps, out_of):
            total += _log_mean_of_products(losses[:, begin : begin + out_of], picks, out_of)
        return total

    def _block(self, length: int, count: int, rng: np.random.Generator) -> FloatArray:
        """log LR of the first `length` steps of one block, for each noise level."""
        picks, out_of = self.scheme.picks, self.scheme.out_of
        z = rng.standard_normal((count, length))
        joins: FloatArray = np.zeros((count, length))
        if self.simulation.present:
            order = rng.random((count, out_of)).argsort(axis=1)[:, :length]
            joins = (order < picks).astype(np.float64)
        levels = self.simulation.noise_multipliers
        return np.array(
            [_log_mean_of_products(z / s + (joins - 0.5) / s**2, picks, out_of) for s in levels]
        )


def _log_mean_of_products(losses: FloatArray, picks: int, out_of: int) -> FloatArray:
    """log of the average over all sets of `picks` out of `out_of` of the product of e^loss.

    Row by row: each step is taken with the chance that is right given how many are still needed;
    `state[k]` is log of the average over the ways to have taken k. Steps beyond the row have e^0.
    """
    count, length = losses.shape
    state = np.full((picks + 1, count), -np.inf)
    state[0] = 0.0
    taken = np.arange(picks + 1)
    with np.errstate(divide="ignore"):
        for j in range(length):
            chance = np.clip((picks - taken) / (out_of - j), 0.0, 1.0)[:, None]
            stay = state + np.log1p(-chance)
            go = state[:-1] + np.log(chance[:-1]) + losses[:, j]
            state = stay
            state[1:] = np.logaddexp(stay[1:], go)
    result: FloatArray = np.logaddexp.reduce(state, axis=0)
    return result


@dataclass(frozen=True, eq=False)
class AllocationLaw:
    """One uniform step of each block of `out_of`, the last of which may be cut off."""

    out_of: int
    steps: int
    log_staying_out: float = 0.0

    @property
    def expected(self) -> FloatArray:
        """The same in every step."""
        return np.full(self.steps, 1 / self.out_of)

    @property
    def expected_squares(self) -> FloatArray:
        """A step is joined once or not at all."""
        return self.expected

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """What falls beyond the end of the run does not count."""
        begins = np.arange(0, self.steps, self.out_of)
        where = begins + rng.integers(self.out_of, size=(draws, begins.size))
        number = (where < self.steps).sum(axis=1)
        return Trajectories(np.minimum(where, self.steps - 1), np.ones_like(where), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log of the product over the blocks of the mean of their factors."""
        means = np.add.reduceat(factors, np.arange(0, self.steps, self.out_of), axis=1)
        means[:, -1] += -self.steps % self.out_of
        losses: FloatArray = np.log(means / self.out_of).sum(axis=1)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """The same from the exponents."""
        total = np.zeros(len(exponents))
        for begin in range(0, self.steps, self.out_of):
            total += _log_mean_of_products(
                exponents[:, begin : begin + self.out_of], 1, self.out_of
            )
        return total
