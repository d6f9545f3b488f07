"""Mechanisms with continuous noise: Gaussian, Laplace, and Gaussian noise on a random shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.gaussian import (
    argument_error,
    formula_error,
    gaussian_cells,
    gaussian_delta,
    log_normal_cells,
    mu_at_corners,
    ndtr,
    quantile_of_tail,
)
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, from_losses, without_atoms
from hockeystick._numerics.moments import MomentNodes, PowerMoments, rounded_up
from hockeystick._numerics.rounding import law_from_cells, mixture
from hockeystick.profile.expressions import Expression, Factor

__all__ = ["GaussianPair", "Laplace", "Shifts", "random_shift"]

# Losses of up to mu^2 / 2 are then known to a few hundredths.
LARGEST_MU = 1e7


@dataclass(frozen=True, repr=False)
class GaussianPair(Expression):
    """N(mu, 1) against N(0, 1): the Gaussian mechanism with noise multiplier 1/mu."""

    mu: float
    family = "gaussian"

    def __repr__(self) -> str:
        # The name by which ledgers know it.
        return f"Gaussian(mu={self.mu!r})"

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return formula_error(self.mu)

    @property
    def argument_error(self) -> float:
        """Relative error of epsilon in the closed form."""
        return argument_error(self.mu)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells of equal width in the observation, masses in closed form.

        For a mu so large that losses lose all digits behind the point: upper, P and Q never meet;
        lower, as for a smaller mu, which is dominated.
        """
        if self.mu > LARGEST_MU:
            upper = side is Side.UPPER
            return (
                without_atoms(1.0, 1.0) if upper else GaussianPair(LARGEST_MU).law(side, resolution)
            )
        reach = quantile_of_tail(resolution.tail)
        # Far apart, P and Q leave next to nothing between them: two cells that meet at loss 0.
        near = min(reach, self.mu / 2)
        count = max(2, math.ceil((near + reach) / resolution.step))
        half = np.linspace(-reach, near, count)
        edges = np.unique(np.concatenate((half, [self.mu / 2], self.mu - half[::-1])))
        log_p, log_q = gaussian_cells(self.mu, edges)
        return law_from_cells(self.mu * (edges - self.mu / 2), log_p, log_q, side)

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The pair is symmetric, so both directions are equal."""
        return gaussian_delta(self.mu, epsilon)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """E_Q[LR^m] = e^(m (m - 1) mu^2 / 2), in both directions."""
        m = np.arange(largest + 1.0)
        return PowerMoments(rounded_up(m * (m - 1) * (self.mu**2 / 2)))

    def moment_nodes(
        self, orders: FloatArray, *, reverse: bool, resolution: Resolution
    ) -> MomentNodes:
        """The same formula at real orders."""
        return MomentNodes(orders, rounded_up(orders * (orders - 1) * (self.mu**2 / 2)))

    def gaussian_mu(self) -> float:
        """Its own."""
        return self.mu

    def fuse(self, factors: Sequence[Factor]) -> Expression:
        """Squares of mu add."""
        return GaussianPair(math.sqrt(sum(float(n) * member.order() ** 2 for member, n in factors)))

    def order(self) -> float:
        """The pair with the larger mu dominates."""
        return self.mu


# More cells of a Laplace law than this are not worth their time.
MOST_CELLS = 1_000_000
# The resolution at which a Gaussian that dominates Laplace noise is found; the finer, the tighter.
FINE = Resolution(step=0.002, tail=1e-20, nats=8.0)


@dataclass(frozen=True)
class Laplace(Expression):
    """Laplace noise of the given scale on a query of sensitivity 1.

    The loss is -1/scale or +1/scale with an atom each, and (2y - 1)/scale for 0 < y < 1 between.
    """

    scale: float

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return 1e-14

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atoms at both ends and closed-form cells between; the step is relative to the range."""
        reach = 1 / self.scale
        count = max(3, math.ceil(4 / resolution.step), math.ceil(2 * reach / resolution.step))
        y = np.linspace(0.0, 1.0, min(count, MOST_CELLS))
        if count > MOST_CELLS:
            # Cells are wide, and none of them may contain the loss 0.
            y = np.unique(np.append(y, 0.5))
        log_q = _log_exponential_cells(y, reach)
        log_p = log_q[::-1]
        empty = np.array([-np.inf])
        inner = law_from_cells(
            reach * (2 * y - 1),
            np.concatenate((empty, log_p, empty)),
            np.concatenate((empty, log_q, empty)),
            side,
        )
        return mixture([inner, from_losses(np.array([-reach, reach]), np.array([0.5, 0.5]))])

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """1 - e^((epsilon - 1/scale)/2) inside the range of the loss."""
        reach = 1 / self.scale
        if epsilon >= reach:
            return 0.0
        if epsilon <= -reach:
            return -math.expm1(epsilon)
        return -math.expm1((epsilon - reach) / 2)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """(m e^((m-1)/s) + (m - 1) e^(-m/s)) / (2m - 1) for m >= 1 and scale s, both directions."""
        m = np.arange(1.0, largest + 1)
        rising = np.log(m) + (m - 1) / self.scale
        with np.errstate(divide="ignore"):
            falling = np.log(m - 1) - m / self.scale
        log = np.logaddexp(rising, falling) - np.log(2 * m - 1)
        return PowerMoments(rounded_up(np.concatenate(([0.0], log))))

    def gaussian_mu(self) -> float:
        """From a fine upper law: losses are bounded, so nothing is cut."""
        return mu_at_corners(self.law(Side.UPPER, FINE))


def _log_exponential_cells(y: FloatArray, rate: float) -> FloatArray:
    """Log of half of e^(-rate y_k) - e^(-rate y_(k+1))."""
    cells: FloatArray = np.log(0.5) - rate * y[:-1] + np.log(-np.expm1(-rate * np.diff(y)))
    return cells


# Beyond this P and Q overlap by less than 1e-190.
LARGEST_SHIFT = 60.0


@dataclass(frozen=True)
class Shifts(Expression):
    """P = sum_r weights[r] N(shifts[r], 1), Q = N(0, 1); shifts are not negative, and increase.

    LR = sum_r w_r e^(l_r x - l_r^2/2) increases with the observation x.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells of equal width in the observation, masses in closed form.

        Upper: shifts so large that P and Q hardly meet count as if they never did.
        """
        if side is Side.UPPER and self.shifts[-1] > LARGEST_SHIFT:
            return self._without_large_shifts(resolution)
        reach = quantile_of_tail(resolution.tail)
        top = self.shifts[-1]
        count = max(2, math.ceil((top + 2 * reach) / resolution.step))
        edges = np.linspace(-reach, top + reach, count)
        loss = self._loss(edges)
        # Far to the left the loss does not change any more in floating point.
        apart = np.concatenate(([True], np.diff(np.maximum.accumulate(loss)) > 0))
        edges, loss = edges[apart], loss[apart]
        return law_from_cells(loss, self._log_cells(edges), log_normal_cells(edges), side)

    def _without_large_shifts(self, resolution: Resolution) -> Law:
        near = [
            (shift, weight)
            for shift, weight in zip(self.shifts, self.weights, strict=True)
            if shift <= LARGEST_SHIFT
        ]
        share = math.fsum(weight for _, weight in near)
        far = math.fsum(self.weights[len(near) :])
        if not share > 0:
            return without_atoms(1.0, 1.0)
        if near[-1][0] == 0:
            law = Law(np.zeros(1), np.ones(1), np.ones(1))
        else:
            law = random_shift(*zip(*near, strict=True)).law(Side.UPPER, resolution)
        # Not 1 - share, which a tiny weight would not reach.
        apart = share * law.p_infinite + far
        return Law(law.loss + math.log(share), share * law.p, law.q, apart, law.q_zero)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """Sums over all choices of levels grow too fast: from the law, unless it is one level."""
        if len(self.shifts) > 1:
            return super().power_moments(largest, reverse=reverse, resolution=resolution)
        m = np.arange(largest + 1.0)
        return PowerMoments(rounded_up(m * (m - 1) * (self.shifts[0] ** 2 / 2)))

    def gaussian_mu(self) -> float:
        """The largest shift: a mixture needs no larger one."""
        return self.shifts[-1]

    def _log_cells(self, edges: FloatArray) -> FloatArray:
        """Logs of the P-mass of the cells, as differences of whichever tail is the smaller one.

        A cell holds a fair share of the tail that starts at it, so few digits are lost.
        """
        x = edges - np.array(self.shifts)[:, None]
        weight = np.array(self.weights)
        below, above = weight @ ndtr(x), weight @ ndtr(-x)
        left = np.diff(np.concatenate(([0.0], below, [1.0])))
        right = -np.diff(np.concatenate(([1.0], above, [0.0])))
        with np.errstate(divide="ignore"):
            cells: FloatArray = np.log(np.where(np.append(below, 1.0) < 0.5, left, right))
        return cells

    def _loss(self, x: FloatArray) -> FloatArray:
        level = np.array(self.shifts)[:, None]
        weight = np.array(self.weights)[:, None]
        exponents = level * (x - level / 2)
        top = exponents.max(axis=0)
        # Around loss 0, where sums would cancel, through LR - 1.
        small = np.abs(exponents).max(axis=0) < 1.0
        near = np.log1p((weight * np.expm1(np.where(small, exponents, 0.0))).sum(axis=0))
        far = top + np.log((weight * np.exp(exponents - top)).sum(axis=0))
        loss: FloatArray = np.where(small, near, far)
        return loss


def random_shift(shifts: Sequence[float], weights: Sequence[float]) -> Expression:
    """The pair in normal form: equal shifts joined, those without weight left out."""
    values, where = np.unique(np.asarray(shifts, dtype=float), return_inverse=True)
    masses = np.bincount(where, weights=np.asarray(weights, dtype=float), minlength=values.size)
    values, masses = values[masses > 0], masses[masses > 0] / masses.sum()
    if values.size == 1:
        return GaussianPair(float(values[0]))
    if values.size == 2 and values[0] == 0 and values[1] <= LARGEST_SHIFT:
        rate = float(masses[1])
        # Not rounded down: 1 - rate is the smallest likelihood ratio.
        rate = rate if 1 - rate <= masses[0] else math.nextafter(rate, math.inf)
        return GaussianPair(float(values[1])).subsample(rate)
    return Shifts(tuple(values.tolist()), tuple(masses.tolist()))
