"""The law of a sum of Poisson numbers of jumps, exact on a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["JumpLattice", "jump_lattice"]

# P-mass that may be left out beyond the lattice, and atoms that are not worth keeping.
TAIL, SMALLEST_ATOM = 1e-60, 1e-80
MOST_ATOMS = 200_000
# Exponents that are tried in the bound on the tail, in units of the inverse of the largest jump.
TILTS = np.geomspace(1e-3, 300.0, 120)
UNIT_ROUNDOFF = 1.2e-16


class JumpLattice(NamedTuple):
    """Atoms of the compensated sum: loss k unit - drift, its P- and its Q-mass.

    `lost` bounds the P-mass, and the Q-mass, that is left out; `error` the relative error of every
    mass, and `shift` the error of every loss.
    """

    loss: FloatArray
    p: FloatArray
    q: FloatArray
    lost: float
    error: float
    shift: float


def jump_lattice(unit: float, sizes: Sequence[int], rates: FloatArray) -> JumpLattice:
    """Jumps of sizes[j] * unit at the rates under Q; the drift makes the mean of LR equal to 1.

    Under P the same jumps come at rates[j] e^(sizes[j] unit). Cost: atoms times kinds of jumps.
    """
    present = rates > 0
    steps, rates = np.asarray(sizes, dtype=np.int64)[present], rates[present]
    if not steps.size:
        return JumpLattice(np.zeros(1), np.ones(1), np.ones(1), 0.0, 0.0, 0.0)
    jump: FloatArray = steps.astype(np.float64) * unit
    drift, total = float(rates @ np.expm1(jump)), float(rates.sum())
    count, beyond = _reach(jump, rates * np.exp(jump), unit)
    mass, scaled = _kernels().panjer(steps, rates, count)
    with np.errstate(divide="ignore"):
        log_q = np.log(mass) + (scaled * 250 * math.log(10) - total)
    loss = unit * np.arange(count) - drift
    kept = np.maximum(log_q, log_q + loss) > math.log(SMALLEST_ATOM)
    if not kept.any():
        # The lattice ends before the masses begin.
        return JumpLattice(np.zeros(1), np.zeros(1), np.zeros(1), 1.0, 0.0, 0.0)
    loss, log_q = loss[kept], log_q[kept]
    # Logarithms of numbers below 1e308 are off by less than a thousand roundings.
    error = UNIT_ROUNDOFF * (count * (steps.size + 6.0) + 4 * (total + 1000.0))
    shift = UNIT_ROUNDOFF * (steps.size + 4.0) * (drift + count * unit)
    lost = beyond + count * SMALLEST_ATOM
    return JumpLattice(loss, np.exp(log_q + loss), np.exp(log_q), lost, error, shift)


def _reach(jump: FloatArray, rates: FloatArray, unit: float) -> tuple[int, float]:
    """How many atoms leave about TAIL of the mass out, and a bound on it: Chernoff's.

    `rates` are those under P, which are the larger ones.
    """
    tilt = TILTS / jump[-1]
    with np.errstate(over="ignore"):
        growth = np.array([float(rates @ np.expm1(t * jump)) for t in tilt])
    reach = float(np.min((growth - math.log(TAIL)) / tilt))
    count = int(min(reach / unit, MOST_ATOMS)) + 2
    exponent = float(np.min(growth * (1 + 1e-12) - tilt * (count - 1) * unit))
    return count, math.exp(min(exponent, 0.0))


def _kernels() -> ModuleType:
    from hockeystick.filters.levy import kernels as levy_kernels

    return levy_kernels
