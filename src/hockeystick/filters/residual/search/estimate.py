"""A fast estimate of delta of a composition of sampled Gaussian steps, for searches.

With M(t) = E_P LR^t, delta = E_P(1 - e^epsilon / LR)+ is the integral of
M(t) e^(-epsilon t) / (t (t + 1)) / (2 pi i) along a vertical line with Re t = c > 0. log M adds up
over steps, so a composition costs one product of a matrix with the numbers of steps. Near the c
where the integrand is smallest the trapezoidal rule is accurate to about 1e-4 of delta, whatever
delta is.

Nothing here has to be trusted: the filter computes the delta of whatever comes out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import mixed_losses
from hockeystick.filters.residual.composition import StepClass

__all__ = ["FastDelta"]

ComplexArray = NDArray[np.complex128]

# Where a line may cross the real axis.
PLACES = np.geomspace(0.05, 400.0, 46)
# Of the normal variable: spacing, and how far beyond the shifted means the integrals go.
SPACING, REACH = 0.05, 9.0
# Points on a line at first, and at most; values at the end of a line are to be this small.
POINTS, MOST_POINTS, SMALL = 128, 2048, 1e-5
# Terms of the trapezoidal rule that fold back from other epsilons: e to minus this, relatively.
FOLDED = 12.0


class FastDelta:
    """Estimates of log delta at one epsilon, of P against Q.

    What is known about a class of steps is kept.
    """

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon
        self._real: dict[StepClass, FloatArray] = {}
        self._lines: dict[tuple[int, float, int], dict[StepClass, ComplexArray]] = {}

    def log_delta(self, counts: Mapping[StepClass, float]) -> float:
        """The logarithm of delta; 0 at most, -inf for no steps at all."""
        kinds = [one for one, n in counts.items() if n]
        if not kinds:
            return -math.inf
        numbers = np.array([counts[one] for one in kinds], dtype=float)
        real = numbers @ np.stack([self._on_the_axis(one) for one in kinds])
        size = real - self._epsilon * PLACES - np.log(PLACES * (PLACES + 1))
        at = int(np.argmin(size))
        gap = self._gap(at, real, float(size[at]))
        points, found = POINTS, math.nan
        while points <= MOST_POINTS:
            found, end = self._integral(kinds, numbers, at, gap, points)
            if end <= SMALL * found:
                break
            points *= 2
        if not found > 0:
            return min(float(size[at]), 0.0)
        return min(math.log(found) + float(size[at]), 0.0)

    def _gap(self, at: int, real: FloatArray, size: float) -> float:
        """Between points on the line: small enough for little to fold back."""
        c, period = float(PLACES[at]), 1.0
        largest = max(-size, 0.0) + FOLDED
        for _ in range(60):
            # delta at epsilon + period, by the best of all places, against delta here.
            beyond = np.min(real - PLACES * (self._epsilon + period)) + c * period
            here = real[at] - c * self._epsilon
            if c * period >= largest and beyond <= here - FOLDED:
                break
            period *= 1.25
        return 2 * math.pi / period

    def _integral(
        self, kinds: list[StepClass], numbers: FloatArray, at: int, gap: float, points: int
    ) -> tuple[float, float]:
        """The integral over e^size, and how large the last values are."""
        c = float(PLACES[at])
        known = self._lines.setdefault((at, gap, points), {})
        for one in kinds:
            if one not in known:
                known[one] = _on_a_line(one, c, gap, points)
        line = numbers @ np.stack([known[one] for one in kinds])
        y = gap * np.arange(points)
        t = c + 1j * y
        values = np.exp(line - 1j * self._epsilon * y) * (c * (c + 1)) / (t * (t + 1))
        terms = values.real
        total = gap / math.pi * (terms.sum() - terms[0] / 2)
        ends = np.abs(values[-max(points // 16, 1) :])
        return float(total), float(ends.max() * gap * math.sqrt(points))

    def _on_the_axis(self, kind: StepClass) -> FloatArray:
        """log M at all places."""
        if kind not in self._real:
            # Nothing oscillates here.
            loss, weight = (one[::2] for one in _nodes(kind))
            weight = weight + math.log(2)
            exponent = np.outer(PLACES + 1, loss) + weight
            top = exponent.max(axis=1)
            self._real[kind] = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        return self._real[kind]


def _nodes(kind: StepClass) -> tuple[FloatArray, FloatArray]:
    """Losses at evenly spaced outputs, and the logarithms of their Q-masses."""
    # Tilted by LR^t the output has its mean up to t + 1 means away.
    shift = 1 / kind.noise
    z = np.arange(-REACH, REACH + min((PLACES[-1] + 1) * shift, 60.0), SPACING)
    loss = shift * z - shift**2 / 2
    if kind.rate < 1:
        loss = mixed_losses(kind.rate, loss)
    return loss, -(z**2) / 2 + math.log(SPACING / math.sqrt(2 * math.pi))


def _on_a_line(kind: StepClass, c: float, gap: float, points: int) -> ComplexArray:
    """log(M(c + i y) / M(c)) at y = 0, gap, 2 gap, ..."""
    loss, weight = _nodes(kind)
    exponent = (c + 1) * loss + weight
    mass = np.exp(exponent - exponent.max())
    keep = mass > 1e-18
    mass, loss = mass[keep], loss[keep]
    # Powers of one rotation, 64 at a time: much cheaper than an exponential for each.
    block = np.exp(1j * gap * np.outer(np.arange(64), loss)) * (mass / mass.sum())
    rotation = np.exp(64j * gap * loss)
    found = np.empty(points, dtype=complex)
    current = np.ones_like(rotation)
    for start in range(0, points, 64):
        here = block @ current
        found[start : start + 64] = here[: points - start]
        current = current * rotation
    result: ComplexArray = np.log(np.maximum(np.abs(found), 1e-300)) + 1j * np.angle(found)
    return result
