"""Pairs of data sets in which examples are replaced, and chains of neighbouring data sets.

**One example replaced.** A step draws the example with probability q, whatever its
value g, so it has the outputs P = (1 - q) N(0, I) + q N(g, I) and Q = (1 - q) N(0, I) + q N(g', I)
with |g|, |g'| <= mu (in units of the noise). With N(0, I) as reference, H(P || Q) is

    E F(X, Y),   F(x, y) = ((1 - q)(1 - c) + q x - c q y)+,

where X and Y are exponentials of normal variables with the covariance K of g and g', less half
their variance. Along a path of covariances d/dt E F = 1/2 sum_ij dK_ij/dt E[X_i X_j F_ij] (Gaussian
integration by parts, as in Kahane's inequality), and F_xx >= 0, F_yy >= 0, F_xy <= 0. So E F grows
with |g| and |g'| and falls with their inner product: it is largest at g' = -g, |g| = mu, at every
order c. `ReplacedGaussian` is that pair. It dominates every step, so its powers dominate runs whose
steps are chosen one after the other [ZhuDongWang22].

**Chains.** If P(S) <= R(M(S)) and M(S) <= R'(Q(S)) for all sets S, with R and R' the largest
masses that a pair allows (one minus the trade-off function), then P(S) <= R(R'(Q(S))). `Chained` is
the pair with the curve R(R'(.)): concave, because both are concave and increasing. Removing one
example and adding another is a chain of two, a group of k examples one of k [DongRothSu22].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.gaussian import log_normal_cells, quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, joined
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick._numerics.mixed_ratio import mixed_losses
from hockeystick._numerics.rounding import law_from_cells
from hockeystick.profile.expressions import Expression

__all__ = ["Chained", "ReplacedGaussian"]


@dataclass(frozen=True)
class ReplacedGaussian(Expression):
    """(1 - rate) N(0, 1) + rate N(mu, 1) against (1 - rate) N(0, 1) + rate N(-mu, 1).

    The likelihood ratio increases with the observation, and the pair is its own mirror image.
    """

    mu: float
    rate: float

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells of equal width in the observation, masses in closed form."""
        reach = self.mu + quantile_of_tail(resolution.tail)
        # Symmetric, with an edge at loss 0.
        half = np.linspace(0.0, reach, max(2, math.ceil(reach / resolution.step)))
        edges = np.concatenate((-half[:0:-1], half))
        loss = self._loss(edges)
        # Far out the loss does not change any more in floating point.
        apart = np.concatenate(([True], np.diff(np.maximum.accumulate(loss)) > 0))
        edges, loss = edges[apart], loss[apart]
        log_q = self._log_cells(-edges[::-1])[::-1]
        return law_from_cells(loss, self._log_cells(edges), log_q, side)

    def gaussian_mu(self) -> float:
        """2 mu: if it is revealed whether the example was drawn, N(mu, 1) against N(-mu, 1)."""
        return 2 * self.mu

    def _loss(self, x: FloatArray) -> FloatArray:
        up, down = (self.mu * (y - self.mu / 2) for y in (x, -x))
        difference: FloatArray = mixed_losses(self.rate, up) - mixed_losses(self.rate, down)
        return difference

    def _log_cells(self, edges: FloatArray) -> FloatArray:
        """Logs of the P-mass of the cells; that of Q is its mirror image."""
        apart = log_normal_cells(edges - self.mu) + math.log(self.rate)
        alike = log_normal_cells(edges) + (math.log1p(-self.rate) if self.rate < 1 else -math.inf)
        cells: FloatArray = np.logaddexp(apart, alike)
        return cells


@dataclass(frozen=True)
class Chained(Expression):
    """The pair whose largest P-mass for a Q-mass is first(second(.)): losses of both add up.

    Both operands are bounds on neighbours: `first` on (P, M), `second` on (M, Q).
    """

    first: Expression
    second: Expression

    @property
    def lower_composes(self) -> bool:
        """If it does for both members."""
        return self.first.lower_composes and self.second.lower_composes

    def levels(self) -> int:
        """Of the deeper member."""
        return max(self.first.levels(), self.second.levels())

    def largest_loss(self, *, reverse: bool) -> float:
        """Losses add up."""
        return self.first.largest_loss(reverse=reverse) + self.second.largest_loss(reverse=reverse)

    def gaussian_mu(self) -> float:
        """Chains of Gaussian pairs add their mu."""
        return self.first.gaussian_mu() + self.second.gaussian_mu()

    def law(self, side: Side, resolution: Resolution) -> Law:
        """From the laws of both members; the larger losses from above, the others from below."""
        first, second = self.first.law(side, resolution), self.second.law(side, resolution)
        above = _chain_from_above(first, second, side)
        below = reverse_law(_chain_from_above(reverse_law(second), reverse_law(first), side))
        upper, lower = above.loss >= 0, below.loss < 0
        return joined(
            np.concatenate((below.loss[lower], above.loss[upper])),
            np.concatenate((below.p[lower], above.p[upper])),
            np.concatenate((below.q[lower], above.q[upper])),
            above.p_infinite,
            below.q_zero,
        )


def _chain_from_above(first: Law, second: Law, side: Side) -> Law:
    """The chained law, with masses summed from the largest loss down, so that small ones are exact.

    Cells of the middle distribution M end where an atom of either law ends. A cell of M-mass m has
    the P-mass m e^l and the Q-mass m e^-l' for the losses l and l' of the two atoms.
    """
    ends_of_first = np.concatenate(([0.0], np.cumsum(first.q[::-1])))
    ends_of_second = second.p_infinite + np.concatenate(([0.0], np.cumsum(second.p[::-1])))
    ends = np.union1d(ends_of_first, ends_of_second)
    ends = ends[ends <= min(ends_of_first[-1], ends_of_second[-1])]
    mass, starts = np.diff(ends), ends[:-1]
    up, down = _losses_at(first, ends_of_first, starts), _losses_at(second, ends_of_second, starts)
    log_p = np.log(mass) + up
    finite = np.isfinite(down)
    # P-mass where M has none, and where M has mass and Q has none. Where M has none in floating
    # point alone: upper, as if it had none at all; lower, that P-mass is left out.
    vanished = float(first.p[first.q == 0].sum()) if side is Side.UPPER else 0.0
    apart = first.p_infinite + vanished
    infinite = apart + float(np.exp(log_p[~finite]).sum())
    q = np.exp(np.log(mass) - down)
    order = slice(None, None, -1)
    return Law(
        (up + down)[finite][order], np.exp(log_p)[finite][order], q[finite][order], infinite, 0.0
    )


def _losses_at(law: Law, ends: FloatArray, starts: FloatArray) -> FloatArray:
    """The loss of the atom in which each cell begins; infinite before the first."""
    losses = np.concatenate(([np.inf], law.loss[::-1], law.loss[:1]))
    found: FloatArray = losses[np.searchsorted(ends, starts, side="right")]
    return found
