"""Pairs of finitely many atoms or cells, and checked ways to make them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.gaussian import mu_at_corners
from hockeystick._numerics.law import (
    FloatArray,
    Law,
    Resolution,
    Side,
    from_losses,
    total_by_index,
    without_atoms,
)
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick._numerics.rounding import law_from_cells
from hockeystick.errors import InvalidParameter
from hockeystick.profile.expressions import Expression

__all__ = ["Atoms", "Cells", "from_cells", "from_epsilon_delta", "from_pmfs", "randomized_response"]


@dataclass(frozen=True, eq=False)
class Atoms(Expression):
    """A discrete pair: its law is exact at every resolution."""

    atoms: Law
    # How exact the losses are, relatively.
    loss_error: float = 0.0

    @property
    def argument_error(self) -> float:
        """That of the losses: next to an atom epsilon may be above or below it."""
        return self.loss_error

    def law(self, side: Side, resolution: Resolution) -> Law:
        """The atoms themselves."""
        return self.atoms

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The finite sum."""
        return delta_from_law(reverse_law(self.atoms) if reverse else self.atoms, epsilon)

    def gaussian_mu(self) -> float:
        """Exact, from the corners of the trade-off function."""
        return mu_at_corners(self.atoms)


@dataclass(frozen=True, eq=False)
class Cells(Expression):
    """A likelihood ratio known only through the masses between given losses."""

    nodes: FloatArray
    log_p: FloatArray
    log_q: FloatArray

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Split at the edges (upper) or merged in the cells (lower); no finer than given."""
        return law_from_cells(self.nodes, self.log_p, self.log_q, side)


# How far masses may be from summing to one, and cells from their own edges.
SUM_TOLERANCE = 1e-9
# What a ratio of masses and its logarithm lose to floating point, relatively.
LOSS_ROUNDING = 1e-15
# Up to here a quotient is a number with all its digits.
LARGEST_LOG_QUOTIENT = 700.0


def from_epsilon_delta(epsilon: float, delta: float) -> Expression:
    """Four outcomes: P alone and Q alone with mass delta, and losses +epsilon and -epsilon."""
    epsilon = check.at_least("epsilon", epsilon, 0.0)
    allowed = "in [0, 1)"
    delta = check.real("delta", delta, allowed)
    if not 0 <= delta < 1:
        raise InvalidParameter("delta", allowed, delta)
    if epsilon == 0:
        losses, main = np.array([0.0]), np.array([1 - delta])
    else:
        losses = np.array([-epsilon, epsilon])
        main = np.full(2, (1 - delta) / (1 + math.exp(-epsilon)))
    return Atoms(from_losses(losses, main, p_infinite=delta, q_zero=delta))


def randomized_response(epsilon: float, buckets: int) -> Expression:
    """The true value with weight e^epsilon, each other value with weight 1."""
    epsilon = check.positive("epsilon", epsilon)
    buckets = check.positive_integer("buckets", buckets)
    if buckets < 2:
        raise InvalidParameter("buckets", "an integer >= 2", buckets)
    # Weights relative to the true value, so that a large epsilon does not overflow.
    other = math.exp(-epsilon)
    total = 1 + (buckets - 1) * other
    losses, main = [-epsilon, epsilon], [1 / total, 1 / total]
    if buckets > 2:
        losses.insert(1, 0.0)
        main.insert(1, (buckets - 2) * other / total)
    return Atoms(from_losses(np.array(losses), np.array(main)))


def from_pmfs(p: Any, q: Any) -> Expression:
    """Outcomes grouped by their likelihood ratio."""
    p, q = _masses("p", p), _masses("q", q)
    if p.shape != q.shape:
        raise InvalidParameter("q", f"of the same length as p ({p.size})", q.size)
    both = (p > 0) & (q > 0)
    loss, inverse = np.unique(_log_ratio(p[both], q[both]), return_inverse=True)
    p_infinite, q_zero = float(p[q == 0].sum()), float(q[p == 0].sum())
    if not loss.size:
        return Atoms(without_atoms(p_infinite, q_zero))
    return Atoms(
        Law(
            loss,
            total_by_index(inverse, p[both], loss.size),
            total_by_index(inverse, q[both], loss.size),
            p_infinite,
            q_zero,
        ),
        LOSS_ROUNDING,
    )


def _log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """log(p/q), through p - q, which is exact, where the two are close.

    The difference of the logarithms only where the quotient is beyond floating point: for two small
    masses that are not far apart it would lose digits.
    """
    close = (p > q / 2) & (p < 2 * q)
    near = np.log1p(np.where(close, p - q, 0.0) / q)
    apart = np.log(p) - np.log(q)
    usual = np.abs(apart) < LARGEST_LOG_QUOTIENT
    far = np.where(usual, np.log(np.where(usual, p, 1.0) / np.where(usual, q, 1.0)), apart)
    ratio: FloatArray = np.where(close, near, far)
    return ratio


def from_cells(edges: Any, p: Any, q: Any) -> Expression:
    """Cells with finite inner edges; infinite outer edges become the outer cells."""
    edges = check.vector("edges", edges)
    if edges.ndim != 1 or edges.size < 2 or not np.all(np.diff(edges) > 0):
        raise InvalidParameter("edges", "at least two increasing losses", edges.tolist())
    p, q = _masses("p", p), _masses("q", q)
    for name, masses in (("p", p), ("q", q)):
        if masses.size != edges.size - 1:
            raise InvalidParameter(name, f"one mass per cell ({edges.size - 1})", masses.size)
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    _check_cells(edges, log_p, log_q)
    empty = np.array([-np.inf])
    if np.isfinite(edges[0]):
        edges = np.concatenate(([-np.inf], edges))
        log_p, log_q = np.concatenate((empty, log_p)), np.concatenate((empty, log_q))
    if np.isfinite(edges[-1]):
        edges = np.concatenate((edges, [np.inf]))
        log_p, log_q = np.concatenate((log_p, empty)), np.concatenate((log_q, empty))
    if edges.size < 4:
        raise InvalidParameter("edges", "at least two finite losses", edges.tolist())
    return Cells(edges[1:-1], log_p, log_q)


def _check_cells(edges: FloatArray, log_p: FloatArray, log_q: FloatArray) -> None:
    """The barycentre of each cell must lie in the cell."""
    filled = (log_p > -np.inf) | (log_q > -np.inf)
    with np.errstate(invalid="ignore"):
        loss = np.where(filled, log_p - log_q, 0.0)
    outside = filled & ((loss < edges[:-1] - SUM_TOLERANCE) | (loss > edges[1:] + SUM_TOLERANCE))
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise InvalidParameter(
            "p, q",
            f"such that log(p/q) of cell {k} lies in [{edges[k]:g}, {edges[k + 1]:g}]",
            loss[k],
        )


def _masses(name: str, values: Any) -> FloatArray:
    """A vector of non-negative masses that sums to one."""
    allowed = "a vector of non-negative masses that sum to 1"
    masses = check.vector(name, values, allowed)
    if masses.ndim != 1 or not masses.size or not np.all(masses >= 0):
        raise InvalidParameter(name, allowed, values)
    total = masses.sum()
    if not abs(total - 1) <= SUM_TOLERANCE:
        raise InvalidParameter(name, allowed, f"sum {total:.12g}")
    normalised: FloatArray = masses / total
    return normalised
