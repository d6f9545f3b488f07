"""Gaussian noise on a random shift: N(l, 1) with l drawn from a few levels, against N(0, 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.cells import law_from_cells
from hockeystick._numerics.gaussian import log_normal_cells, quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, without_atoms
from hockeystick._numerics.moments import PowerMoments, rounded_up
from hockeystick._numerics.special import ndtr
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.gaussian import Gaussian

__all__ = ["Shifts", "random_shift"]

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
        return Gaussian(float(values[0]))
    if values.size == 2 and values[0] == 0 and values[1] <= LARGEST_SHIFT:
        rate = float(masses[1])
        # Not rounded down: 1 - rate is the smallest likelihood ratio.
        rate = rate if 1 - rate <= masses[0] else math.nextafter(rate, math.inf)
        return Gaussian(float(values[1])).subsample(rate)
    return Shifts(tuple(values.tolist()), tuple(masses.tolist()))
