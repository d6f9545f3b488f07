"""A Levy process at one time: Brownian motion, jumps, and a chance of losing everything.

The sum of Poisson numbers of jumps has its exact law on a lattice; given the jumps the pair is
Gaussian, and its profile in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.gaussian import log_normal_cells, quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.rounding import law_from_cells
from hockeystick.profile.expressions import Expression

__all__ = ["Calls", "JumpLattice", "LevyPair", "jump_lattice", "levy_calls"]

# P-mass that may be left out beyond the lattice, and atoms that are not worth keeping: both are
# added to `lost`, and far below any delta.
TAIL, SMALLEST_ATOM = 1e-60, 1e-80
# The recursion for the atoms takes tenths of a second at this length.
MOST_ATOMS = 200_000
# Exponents that are tried in Chernoff's bound on the tail, in units of the inverse of the largest
# jump. Every one gives a bound; this range has the best one for tails from 0.9 to 1e-100.
TILTS = np.geomspace(1e-3, 300.0, 120)
# Of double precision, 2^-53, rounded up.
UNIT_ROUNDOFF = 1.2e-16
# More cells than this take seconds in the law of a pair.
MOST_CELLS = 8000
# Jumps that together have less than this share of the allowed tail are left out, and charged.
TAIL_SHARE = 0.1


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


class Calls(NamedTuple):
    """At each loss: H, a bound on its error, minus its slope times e^loss, its slope in mu^2."""

    call: FloatArray
    error: FloatArray
    other: FloatArray
    vega: FloatArray


def levy_calls(
    jumps: JumpLattice, mu: float, loss: FloatArray, *, reverse: bool, unseen: float = 0.0
) -> Calls:
    """H(P || Q) at e^loss, or H(Q || P) if `reverse`, for mu > 0.

    Given a jump of loss j the rest is a Gaussian pair: H = sum p_j H_mu(loss - j), and reversed
    sum q_j H_mu(loss + j). Jumps that the lattice leaves out are left out, and so are the rarest
    ones up to a total of `unseen`: a lower bound.
    """
    offset, weight = (-jumps.loss, jumps.q) if reverse else (jumps.loss, jumps.p)
    seen = weight > unseen / weight.size
    call, error, other, vega = _kernels().gaussian_calls(loss, mu, offset[seen], weight[seen])
    # Losses that are off change weights and thresholds.
    error += jumps.error * call + 2 * jumps.shift * (call + other)
    return Calls(call, error, other, vega)


@dataclass(frozen=True)
class LevyPair(Expression):
    """The pair whose loss is Gaussian plus jumps, compensated so that E_Q[LR] = 1.

    Under Q the loss is N(-variance/2, variance) plus, for each j, a Poisson(rates[j]) number of
    jumps sizes[j] * unit > 0, minus sum_j rates[j] (e^(sizes[j] unit) - 1). With the probability
    `killed` P and Q are told apart for certain. Its profile is the sum over the jumps of Gaussian
    profiles, all terms positive.
    """

    variance: float
    unit: float
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    killed: float = 0.0

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return 1e-9 + self.jumps.error

    @cached_property
    def jumps(self) -> JumpLattice:
        """The law of the sum of all jumps."""
        return jump_lattice(self.unit, self.sizes, np.array(self.rates))

    def calls(self, loss: FloatArray, *, reverse: bool, unseen: float = 0.0) -> Calls:
        """The profile at e^loss, or that of (Q, P), with its slope; `killed` is not in it.

        Of the jumps a mass of up to `unseen` may be left out.
        """
        mu = math.sqrt(self.variance)
        return levy_calls(self.jumps, mu, loss, reverse=reverse, unseen=unseen)

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The sum over the jumps; what is left out of them is added."""
        found = self.calls(np.array([epsilon]), reverse=reverse)
        call = float(found.call[0] + found.error[0]) + self.jumps.lost
        return call + self.killed * max(1.0 - call, 0.0)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells of equal width, masses in closed form."""
        jumps, mu = self.jumps, math.sqrt(self.variance)
        nodes = self._nodes(resolution)
        log_p, log_q = (np.full(nodes.size + 1, -np.inf) for _ in range(2))
        common = np.maximum(jumps.p, jumps.q) > TAIL_SHARE * resolution.tail / jumps.loss.size
        with np.errstate(divide="ignore"):
            for loss, p, q in zip(
                jumps.loss[common], jumps.p[common], jumps.q[common], strict=True
            ):
                edges = (nodes - loss) / mu + mu / 2
                np.logaddexp(log_p, np.log(p) + log_normal_cells(edges - mu), out=log_p)
                np.logaddexp(log_q, np.log(q) + log_normal_cells(edges), out=log_q)
        law = law_from_cells(nodes, log_p, log_q, side)
        lost = jumps.lost + TAIL_SHARE * resolution.tail if side is Side.UPPER else 0.0
        kept, apart = 1 - self.killed, self.killed + lost
        return Law(
            law.loss,
            law.p * kept,
            law.q * kept,
            law.p_infinite * kept + apart,
            law.q_zero * kept + apart,
        )

    def _nodes(self, resolution: Resolution) -> FloatArray:
        jumps, mu = self.jumps, math.sqrt(self.variance)
        kept = np.maximum(jumps.p, jumps.q) > resolution.tail
        reach = mu * quantile_of_tail(resolution.tail) + mu**2 / 2
        low, high = jumps.loss[kept][0] - reach, jumps.loss[kept][-1] + reach
        squares = float(np.array(self.rates) @ (np.array(self.sizes) * self.unit) ** 2)
        width = resolution.step * math.sqrt(self.variance + squares)
        count = min(max(math.ceil((high - low) / width), 2), MOST_CELLS)
        return np.unique(np.append(np.linspace(low, high, count + 1), 0.0))


def _kernels() -> ModuleType:
    """Imported where they are used: they import Numba."""
    from hockeystick.filters.levy import kernels as levy_kernels

    return levy_kernels
