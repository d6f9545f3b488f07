"""How much an observer learns about the bin of an example: tails of posterior odds, step by step.

Step n adds a_i = m_(i,n) for an example in bin i (in units of the noise). Given the earlier outputs
x, only the posterior of the bins matters, and of that only how much of it lies on large a_i. For a
bin i let B be the bins with a strictly smaller a_j. With mu_j the earlier coordinates of m_j,

    X_i = sum_(j in B) p(x | j) / p(x | i)

is one over the odds of i against B. Bins of B with mu_j = mu_i add exactly 1 each, whatever x is
(sampling_free_matrix_allocation, Remark D.11, without its loss). To the others Jensen's inequality
applies: for any weights w on them, with H(w) their entropy,

    log of their sum >= sum_j w_j (x^T (mu_j - mu_i) + (|mu_i|^2 - |mu_j|^2)/2) + H(w),

which is a Gaussian variable if x is one (Lemma 4.7, Theorems 4.8 and D.9). x is Gaussian with mean
0 under Q, and with mean mu_k, k a uniform bin, under P. Every w is valid and may depend on k; those
of Appendix F are tried (uniform; closeness to mu_i; closeness to the mean of x), and the best kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import BoolArray, FloatArray
from hockeystick._numerics.special import ndtr

__all__ = ["Tails", "posterior_tails"]

# Weights fall like e^(-distance^2 / t) with these t, distances in units of the noise.
TEMPERATURES = (np.inf, 32.0, 8.0, 2.0, 0.5)
# Means of a mixture are rounded down to multiples of STRIDE standard deviations, CELLS of them.
STRIDE, CELLS = 0.1, 16

IntArray = NDArray[np.int64]


class Tails(NamedTuple):
    """For each step and each bin above the lowest level: a bound on Pr[X_i <= x].

    Pr[X_i <= x] <= sum over cells c of weight[c] Phi((log(x - same) - mean - c STRIDE sd) / sd),
    plus the same for the bin itself, if x > same, and 0 otherwise.
    """

    step: IntArray
    below: FloatArray
    same: FloatArray
    mean: FloatArray
    sd: FloatArray
    weight: FloatArray
    own_mean: FloatArray
    own_sd: FloatArray
    own_weight: float

    def between(self, first: int, last: int) -> Tails:
        """The entries of the steps first <= n < last."""
        start, end = np.searchsorted(self.step, (first, last))
        chosen = (part[start:end] for part in self[:-1])
        return Tails(*chosen, self.own_weight)

    def failure(self, share: float) -> float:
        """Sum over all entries of the bound on Pr[X_i <= share * |B|]."""
        excess = share * self.below - self.same
        open_ = excess > 0
        if not open_.any():
            return 0.0
        tau = np.log(excess[open_])
        total = self.own_weight * float(
            ndtr((tau - self.own_mean[open_]) / self.own_sd[open_]).sum()
        )
        z = (tau - self.mean[open_]) / self.sd[open_]
        for cell in range(self.weight.shape[1]):
            weight = self.weight[open_, cell]
            if weight.any():
                total += float(weight @ ndtr(z - cell * STRIDE))
        return total


def posterior_tails(levels: FloatArray, *, present: bool, quantile: float) -> Tails:
    """The tails of all steps; `present` if the example is in the data (x drawn under P).

    `levels` holds a_i of step n in row n, column i. The weights are chosen for the best lower
    quantile, `quantile` standard deviations below the mean. O(b^2) for the Gram matrix of the
    earlier coordinates, O(b^2) for each bin above the lowest level and each temperature.
    """
    entries = [entry for entry in _steps(levels, present, quantile) if entry.step.size]
    own_weight = 1 / levels.shape[1] if present else 0.0
    if not entries:
        none = np.empty(0)
        cells = np.empty((0, CELLS))
        return Tails(none.astype(np.int64), none, none, none, none, cells, none, none, own_weight)
    parts = (np.concatenate([entry[i] for entry in entries]) for i in range(8))
    return Tails(*parts, own_weight)


def _steps(levels: FloatArray, present: bool, quantile: float) -> Iterator[Tails]:
    b = levels.shape[1]
    gram = np.zeros((b, b))
    for n, a in enumerate(levels):
        rivals = np.flatnonzero(a > a.min())
        if n > 0 and rivals.size:
            yield _step(n, a, rivals, gram, present, quantile)
        active = np.flatnonzero(a)
        gram[np.ix_(active, active)] += np.multiply.outer(a[active], a[active])


def _step(
    n: int,
    a: FloatArray,
    rivals: IntArray,
    gram: FloatArray,
    present: bool,
    quantile: float,
) -> Tails:
    """Entries for the bins above the lowest level, unless they are certain."""
    norms = np.diagonal(gram)
    below = a[None, :] < a[rivals][:, None]
    same = below & (norms[rivals][:, None] == 0) & (norms[None, :] == 0)
    others = below & ~same
    uncertain = others.any(axis=1)
    rivals, below, same, others = (x[uncertain] for x in (rivals, below, same, others))
    logits = _families(gram, norms, rivals, present)
    bounds = _gaussian_bounds(gram, norms, rivals, np.where(others, logits, -np.inf))
    row = np.arange(rivals.size)
    if present:
        means = bounds.base[:, :, None] + bounds.shift
        own = means[:, row, rivals]
        means[:, row, rivals] = np.inf
        chosen = np.argmax(own - quantile * bounds.sd, axis=0)
        own_mean, own_sd = own[chosen, row], bounds.sd[chosen, row]
    else:
        means = bounds.base[:, :, None]
        own_mean, own_sd = np.zeros(rivals.size), np.ones(rivals.size)
    chosen = np.argmax(means.min(axis=2) - quantile * bounds.sd, axis=0)
    sd = bounds.sd[chosen, row]
    lowest, weight = _histogram(means[chosen, row], sd)
    counts = (below.sum(axis=1).astype(float), same.sum(axis=1).astype(float))
    return Tails(np.full(rivals.size, n), *counts, lowest, sd, weight, own_mean, own_sd, 0.0)


def _families(gram: FloatArray, norms: FloatArray, rivals: IntArray, present: bool) -> FloatArray:
    """Log weights [choice, rival, bin]: uniform, close to mu_i, close to the mean of x.

    The mean of x is 0 under Q. Under P it is mu_k; k = i is the second family.
    """
    distance = norms[rivals][:, None] + norms[None, :] - 2 * gram[rivals]
    temperatures = np.array(TEMPERATURES)[:, None, None]
    close = -distance / temperatures
    if present:
        return close
    central = np.broadcast_to(-norms / temperatures[1:], (close.shape[0] - 1, *distance.shape))
    families: FloatArray = np.concatenate((close, central))
    return families


class _Bounds(NamedTuple):
    """For each choice and rival: the mean for x with mean 0, what each mu_k adds to it, the sd."""

    base: FloatArray
    shift: FloatArray
    sd: FloatArray


def _gaussian_bounds(
    gram: FloatArray, norms: FloatArray, rivals: IntArray, logits: FloatArray
) -> _Bounds:
    """The Gaussian variables below log of the sum over the other bins."""
    logits = logits - logits.max(axis=2, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=2, keepdims=True)
    weights /= total
    # Weights that underflow add nothing to the entropy.
    entropy = np.log(total[:, :, 0]) - (weights * np.maximum(logits, -750.0)).sum(axis=2)
    mixed = weights @ gram
    base = (norms[rivals] - weights @ norms) / 2 + entropy
    own = mixed[:, np.arange(rivals.size), rivals]
    square = norms[rivals] - 2 * own + (weights * mixed).sum(axis=2)
    return _Bounds(base, mixed - gram[rivals], np.sqrt(np.maximum(square, 1e-300)))


def _histogram(means: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lowest mean of each row, and the weights of the means above it, rounded down."""
    count, size = means.shape
    lowest = means.min(axis=1)
    gap = (means - lowest[:, None]) / (STRIDE * sd[:, None])
    cell = np.minimum(gap, CELLS).astype(np.int64)
    # Infinite means, which stand for the bin itself, have no weight here.
    cell = np.where(np.isfinite(means), np.minimum(cell, CELLS - 1), CELLS)
    index = np.arange(count)[:, None] * (CELLS + 1) + cell
    totals = np.bincount(index.ravel(), minlength=count * (CELLS + 1)) / size
    return lowest, totals.reshape(count, CELLS + 1)[:, :CELLS]
