"""A Levy process at one time: Brownian motion, jumps, and a chance of losing everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hockeystick._numerics.cells import law_from_cells
from hockeystick._numerics.gaussian import log_normal_cells, quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick.filters.levy.calls import Calls, levy_calls
from hockeystick.filters.levy.jump_lattice import JumpLattice, jump_lattice
from hockeystick.profile.expressions.base import Expression

__all__ = ["LevyPair"]

MOST_CELLS = 8000
# Jumps that together have less than this share of the allowed tail are left out.
TAIL_SHARE = 0.1


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
        kept = np.maximum(jumps.p, jumps.q) > TAIL_SHARE * resolution.tail / jumps.loss.size
        with np.errstate(divide="ignore"):
            for loss, p, q in zip(jumps.loss[kept], jumps.p[kept], jumps.q[kept], strict=True):
                edges = (nodes - loss) / mu + mu / 2
                np.logaddexp(log_p, np.log(p) + log_normal_cells(edges - mu), out=log_p)
                np.logaddexp(log_q, np.log(q) + log_normal_cells(edges), out=log_q)
        law = law_from_cells(nodes, log_p, log_q, side)
        lost = jumps.lost + TAIL_SHARE * resolution.tail if side is Side.UPPER else 0.0
        rest, apart = 1 - self.killed, self.killed + lost
        return Law(
            law.loss,
            law.p * rest,
            law.q * rest,
            law.p_infinite * rest + apart,
            law.q_zero * rest + apart,
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
