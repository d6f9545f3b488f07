"""Sums of clipped gradients on a lattice: exact, and with rounding inside the clip norm.

Every example's clipped gradient is rounded to the lattice, and the sums are integers: their order
and who adds them do not matter. Rounding d coordinates moves a gradient by at most half the spacing
times sqrt(d). So gradients are clipped to less than the clip norm, by that and by what floating
point can do to a norm; after rounding they are not longer than the clip norm, which is what is
accounted.

In the claim of an exact run the distance of the noise from its law is added to delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Answer, Guarantee
from hockeystick.strategies.noise import TOTAL_VARIATION

__all__ = ["SumLattice", "added_delta", "answer_of", "usable_weights"]

# Sums and noise are integers in double precision, which is exact below 2^53; noise is below 2^51.
MOST = 2.0**51
# The least resolution of the noise (`exact_noise`), and the share of the clip norm that rounding
# may take, as a power of two: the resolution grows with noise and dimension to keep it.
RESOLUTION, SHARE = 24, 10
# Norms of d numbers, factors and products have relative errors of at most (d + 16) 2^-53, for any
# order of summation.
ROUNDINGS, UNIT = 64, 2.0**-52
# More than the rounding of half the spacing times sqrt(d) itself.
OUTWARD = 1.0 + 2.0**-40
# Below, a weight or its quotient by a spacing might be no normal number, and rounded by more than
# the roundings above.
LEAST_WEIGHT = 2.0**-500
# Numbers that are rounded at a time: 32 MB.
AT_ONCE = 2**22


@dataclass(frozen=True)
class SumLattice:
    """The lattice of a run, in the units of the gradients.

    Attributes
    ----------
    spacing
        The distance of neighbouring points: noise_multiplier * max_grad_norm / 2^resolution.
    resolution
        That of the noise.
    dimension
        The number of coordinates.
    """

    spacing: float
    resolution: int
    dimension: int

    @classmethod
    def of(
        cls, *, noise_multiplier: float, max_grad_norm: float, dimension: int, examples: int
    ) -> SumLattice:
        """For batches of at most so many examples; `InvalidParameter` if sums could be inexact."""
        resolution = _least_resolution(noise_multiplier, dimension)
        lattice = cls(noise_multiplier * max_grad_norm * 2.0**-resolution, resolution, dimension)
        lattice.check_sums(max_grad_norm, examples)
        return lattice

    def rescaled(
        self, *, noise_multiplier: float, max_grad_norm: float, examples: int
    ) -> SumLattice:
        """For other noise and another clip norm, with the same noise in units of the lattice.

        `InvalidParameter` where rounding would take more of the clip norm than it may.
        """
        if _least_resolution(noise_multiplier, self.dimension) > self.resolution:
            most = 2.0 ** (self.resolution - SHARE + 1) / math.sqrt(self.dimension)
            allowed = f"at most {most:.4g} on the lattice with which the run began"
            raise InvalidParameter("noise_multiplier", allowed, noise_multiplier)
        spacing = noise_multiplier * max_grad_norm * 2.0**-self.resolution
        found = replace(self, spacing=spacing)
        found.check_sums(max_grad_norm, examples)
        return found

    def check_sums(self, max_grad_norm: float, examples: int) -> None:
        """`InvalidParameter` if sums over so many examples could be inexact."""
        most = examples * (max_grad_norm / self.spacing + 1.0)
        if not most < MOST:
            allowed = f"fewer than {MOST / most * examples:.2g} for exact sums"
            raise InvalidParameter("examples", allowed, examples)

    def shortened(self, length: Any) -> Any:
        """How long gradients may be before rounding, to be at most `length` after it."""
        rounding = self.spacing * math.sqrt(self.dimension) / 2.0 * OUTWARD
        relative = 1.0 - (self.dimension + ROUNDINGS) * UNIT
        return np.maximum(length - rounding, 0.0) * relative

    def weights(self, lengths: FloatArray, limit: Any) -> FloatArray:
        """What gradients of these lengths are multiplied by, for at most `limit` after rounding."""
        longest = self.shortened(limit)
        tiny = float(np.finfo(np.float64).tiny)
        return usable_weights(longest / np.maximum(np.maximum(lengths, longest), tiny))

    def sum(self, rows: FloatArray, weights: FloatArray) -> FloatArray:
        """The sum of weight times row, each rounded to the lattice, in units of it: integers."""
        factors, total = weights / self.spacing, np.zeros(rows.shape[1])
        count = max(AT_ONCE // max(rows.shape[1], 1), 1)
        for start in range(0, len(rows), count):
            part = slice(start, start + count)
            total += np.rint(rows[part] * factors[part, None]).sum(axis=0)
        return total


def usable_weights(weights: FloatArray) -> FloatArray:
    """The weights, zero for gradients of more than 2^500 clip norms: they contribute nothing."""
    usable: FloatArray = np.where(weights >= LEAST_WEIGHT, weights, 0.0)
    return usable


def _least_resolution(noise_multiplier: float, dimension: int) -> int:
    width = noise_multiplier * math.sqrt(dimension)
    return max(RESOLUTION, math.ceil(math.log2(width)) + SHARE - 1)


# The largest share of delta that is added: no digit that is printed changes.
LEAST_SHARE = 2.0**-40


def added_delta(epsilon: float, exact_runs: int) -> float:
    """What the distance of the noise of so many exact runs from its law adds to delta."""
    # Rounded up by more than the four operations can be wrong by.
    exponential = math.exp(epsilon) if epsilon < 700.0 else math.inf
    return exact_runs * TOTAL_VARIATION * (1.0 + exponential) * (1.0 + 2.0**-48)


def answer_of(guarantee: Guarantee, *, delta: float, exact_runs: int) -> Answer:
    """The answer at `delta`, which is added to if as many of the guarantee's runs are exact ones.

    `InvalidParameter` if more than a share of 2^-40 would be added: never for a delta above 1e-9
    and an epsilon below 20.
    """
    answer = guarantee.answer(delta=delta)
    if exact_runs and math.isfinite(answer.value):
        added = added_delta(answer.value, exact_runs)
        if not added <= delta * LEAST_SHARE:
            allowed = f"at least {added / LEAST_SHARE:.2g} with exact arithmetic and this epsilon"
            raise InvalidParameter("delta", allowed, delta)
    return answer
