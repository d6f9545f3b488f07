"""How much an observer learns about the bin of an example: tails of posterior odds, step by step.

Step n adds a_i = m_(i,n) for an example in bin i (in units of the noise). Given the earlier outputs
x, only the posterior of the bins matters, and of that only how much of it lies on large a_i. For a
bin i let B be the bins with a strictly smaller a_j. With mu_j the earlier coordinates of m_j,

    X_i = sum_(j in B) p(x | j) / p(x | i)

is one over the odds of i against B. Bins of B with mu_j = mu_i add exactly 1 each, whatever x is
([SchuchardtKalinin26, Remark D.11], without its loss). They are counted so where mu_j = mu_i = 0;
equal means that are not zero stay among the others, which is valid too. To the others Jensen's
inequality applies: for any weights w on them, with H(w) their entropy,

    log of their sum >= sum_j w_j (x^T (mu_j - mu_i) + (|mu_i|^2 - |mu_j|^2)/2) + H(w),

which is a Gaussian variable if x is one (Lemma 4.7, Theorems 4.8 and D.9). x is Gaussian with mean
0 under Q, and with mean mu_k, k a uniform bin, under P. Every w is valid and may depend on k; those
of odds.py are tried, and the best kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.gaussian import ndtr
from hockeystick._numerics.law import BoolArray, FloatArray
from hockeystick.analyses.conditional.odds import Weights, odds_bounds, shared_weights

__all__ = ["Tails", "posterior_tails"]

# Means of a mixture are rounded down to multiples of STRIDE standard deviations above the lowest,
# CELLS of them. A lower mean has a larger tail, so the bound is on the safe side: the logarithm of
# a threshold is too small by at most STRIDE standard deviations. Means further than the last cell,
# 1.5 standard deviations, count there: with the lowest at its 3rd or 5th standard deviation their
# tails are 3e-3 or 1e-4 of its own.
STRIDE, CELLS = 0.1, 16

DEFAULT_WEIGHTS = Weights()

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
        chosen = slice(*np.searchsorted(self.step, (first, last)))
        return Tails(
            step=self.step[chosen],
            below=self.below[chosen],
            same=self.same[chosen],
            mean=self.mean[chosen],
            sd=self.sd[chosen],
            weight=self.weight[chosen],
            own_mean=self.own_mean[chosen],
            own_sd=self.own_sd[chosen],
            own_weight=self.own_weight,
        )

    def failures(self, share: FloatArray) -> FloatArray:
        """The bound on Pr[X_i <= share |B|] for every entry."""
        excess = share * self.below - self.same
        result = np.zeros(excess.size)
        open_ = np.flatnonzero(excess > 0)
        tau = np.log(excess[open_])
        z = (tau - self.mean[open_]) / self.sd[open_]
        own = (tau - self.own_mean[open_]) / self.own_sd[open_]
        total = self.own_weight * ndtr(own)
        for cell in np.flatnonzero(self.weight.any(axis=0)).tolist():
            total += self.weight[open_, cell] * ndtr(z - cell * STRIDE)
        result[open_] = total
        return result

    def failure(self, share: float) -> float:
        """Sum over all entries of the bound on Pr[X_i <= share * |B|]."""
        return float(self.failures(np.full(self.step.size, share)).sum())

    def largest_shares(
        self, group: IntArray, failure: FloatArray, *, smallest: float, precision: float
    ) -> FloatArray:
        """For each group of entries the largest y in (0, 1] found with at most its failure, or 0.

        By bisection for all groups at once; of the last two y the one that holds is taken.
        """

        def holds(log_share: FloatArray) -> BoolArray:
            each = self.failures(np.exp(log_share)[group])
            return np.bincount(group, each, failure.size) <= failure

        low, high = np.full(failure.size, math.log(smallest)), np.zeros(failure.size)
        none, all_ = ~holds(low), holds(high)
        for _ in range(math.ceil(math.log2(-math.log(smallest) / precision))):
            middle = (low + high) / 2
            enough = holds(middle)
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return np.where(all_, 1.0, np.where(none, 0.0, np.exp(low)))


def posterior_tails(
    levels: FloatArray,
    *,
    present: bool,
    quantile: float,
    weights: Weights = DEFAULT_WEIGHTS,
    by_bin: bool = False,
) -> Tails:
    """The tails of all steps; `present` if the example is in the data (x drawn under P).

    `levels` holds a_i of step n in row n, column i. The weights are chosen for the best lower
    quantile, `quantile` standard deviations below the mean. Under P there is one choice for x from
    the bin i itself and one for all other bins k, or with `by_bin` one for every k, which is slower
    by the number of bins and raises odds by one or two per cent. O(b^2) for the Gram matrix of the
    earlier coordinates, O(b^2) for each bin above the lowest level and each choice of weights.
    """
    by_bin = by_bin and present
    entries = []
    gram = np.zeros((levels.shape[1],) * 2)
    for n, a in enumerate(levels):
        compared = _ComparedBins.of(a, gram)
        if compared.bins.size:
            if by_bin:
                rows = _rows_by_bin(gram, compared, quantile, weights)
            else:
                rows = _rows(gram, compared, quantile, weights, present=present)
            entries.append((n, compared, rows))
        active = np.flatnonzero(a)
        gram[np.ix_(active, active)] += np.multiply.outer(a[active], a[active])
    own_weight = 1 / levels.shape[1] if present and not by_bin else 0.0
    return _joined(entries, own_weight)


class _ComparedBins(NamedTuple):
    """The bins of one step whose odds are uncertain, and those that they are compared with."""

    bins: IntArray
    others: BoolArray
    below: FloatArray
    same: FloatArray

    @classmethod
    def of(cls, a: FloatArray, gram: FloatArray) -> _ComparedBins:
        """Above the lowest level, with some bin below where not both pasts are zero."""
        index = np.flatnonzero(a > a.min())
        norms = np.diagonal(gram)
        below = a[None, :] < a[index][:, None]
        same = below & (norms[index][:, None] == 0) & (norms[None, :] == 0)
        others = below & ~same
        uncertain = others.any(axis=1)
        counts = (x[uncertain].sum(axis=1).astype(float) for x in (below, same))
        return cls(index[uncertain], others[uncertain], *counts)


class _Rows(NamedTuple):
    """What `Tails` keeps of one step."""

    mean: FloatArray
    sd: FloatArray
    weight: FloatArray
    own_mean: FloatArray
    own_sd: FloatArray


def _rows(
    gram: FloatArray,
    compared: _ComparedBins,
    quantile: float,
    weights: Weights,
    *,
    present: bool,
) -> _Rows:
    """One choice of weights for x from the bin itself, one for all other bins."""
    index, row = compared.bins, np.arange(compared.bins.size)
    logits = shared_weights(gram, index, weights=weights, central=not present)
    bounds = odds_bounds(gram, index, np.where(compared.others, logits, -np.inf))
    own_mean, own_sd = np.zeros(index.size), np.ones(index.size)
    means = bounds.base[:, :, None]
    if present:
        means = means + bounds.shift
        own = means[:, row, index]
        means[:, row, index] = np.inf
        chosen = np.argmax(own - quantile * bounds.sd, axis=0)
        own_mean, own_sd = own[chosen, row], bounds.sd[chosen, row]
    chosen = np.argmax(means.min(axis=2) - quantile * bounds.sd, axis=0)
    sd = bounds.sd[chosen, row]
    lowest, weight = _histogram(means[chosen, row], sd)
    return _Rows(lowest, sd, weight, own_mean, own_sd)


def _rows_by_bin(
    gram: FloatArray, compared: _ComparedBins, quantile: float, weights: Weights
) -> _Rows:
    """One choice of weights for x from each bin; a row for each pair of bins."""
    index, b = compared.bins, gram.shape[0]
    norms = np.diagonal(gram)
    shape = (index.size, b)
    best, mean, sd = np.full(shape, -np.inf), np.zeros(shape), np.ones(shape)

    def offer(candidate: FloatArray, spread: FloatArray) -> None:
        score = candidate - quantile * spread
        better = score > best
        for kept, new in ((best, score), (mean, candidate), (sd, spread)):
            kept[better] = new[better]

    shared = [family for family in weights.families if family != "reference"]
    if shared:
        logits = shared_weights(
            gram, index, weights=weights._replace(families=shared), central=False
        )
        bounds = odds_bounds(gram, index, np.where(compared.others, logits, -np.inf))
        for base, shift, spread in zip(*bounds, strict=True):
            offer(base[:, None] + shift, np.broadcast_to(spread[:, None], shape))
    if "reference" in weights.families:
        distance = norms[:, None] + norms[None, :] - 2 * gram
        for temperature in weights.temperatures:
            logits = np.where(compared.others, -distance[:, None, :] / temperature, -np.inf)
            bounds = odds_bounds(gram, index, logits)
            from_k = bounds.shift[np.arange(b), :, np.arange(b)]
            offer((bounds.base + from_k).T, bounds.sd.T)
    weight = np.zeros((index.size * b, CELLS))
    weight[:, 0] = 1 / b
    none = np.zeros(index.size * b)
    return _Rows(mean.ravel(), sd.ravel(), weight, none, none + 1)


def _joined(entries: list[tuple[int, _ComparedBins, _Rows]], own_weight: float) -> Tails:
    """One array for each field; bins with several rows count once for each."""
    each = [rows.mean.size // compared.bins.size for _, compared, rows in entries]
    rows = [rows for _, _, rows in entries]
    return Tails(
        step=np.repeat([n for n, _, _ in entries], [row.mean.size for row in rows]),
        below=_together([np.repeat(e[1].below, k) for e, k in zip(entries, each, strict=True)]),
        same=_together([np.repeat(e[1].same, k) for e, k in zip(entries, each, strict=True)]),
        mean=_together([row.mean for row in rows]),
        sd=_together([row.sd for row in rows]),
        weight=_together([row.weight for row in rows], columns=CELLS),
        own_mean=_together([row.own_mean for row in rows]),
        own_sd=_together([row.own_sd for row in rows]),
        own_weight=own_weight,
    )


def _together(parts: list[FloatArray], columns: int | None = None) -> FloatArray:
    """All parts in one array, also if there are none."""
    return np.concatenate([np.empty((0, columns) if columns else 0), *parts])


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
