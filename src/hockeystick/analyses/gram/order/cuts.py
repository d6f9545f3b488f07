"""Bins in groups that share nothing but a common part: how a ring falls into them.

Of a ring of b bins every `spacing`-th one is kept, in `copies` groups of the same size, without
`left_out` bins between two groups. All rotations of such a choice are equally likely to contain a
bin, so the pair that reveals the rotation dominates (docs/gram.md, "Revealing classes"), and it is
enough to bound what is kept: a ring of copies * period bins, of which those at a distance d have
been at a distance of spacing * d or more, and share at most what is shared there or beyond.

Between groups, either mirrors: the kernel of a chain on a ring is smaller than that on a ring of
fewer bins (`ring_kernel`), which is dominated by that of paths of `period` bins, of which
left_out / 2 next to either end are not kept; or, without mirrors, gaps: what bins of two groups
share, left_out + 1 or more apart, is at most a constant, which goes into the common part
(docs/gram.md, "Segments").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order.chains import ChainMixture, ring_kernel
from hockeystick.analyses.gram.order.domination import ChainFit
from hockeystick.analyses.gram.order.lag_bounds import LagBounds

__all__ = ["Cut", "CutTarget", "cut_ring", "thinned_line", "whole_line"]

# Lags of a certificate beyond the last that counts, over which a chain may die away.
FREE_LAGS = 64


class Cut(NamedTuple):
    """How a ring falls into groups of bins; `closed`, it does not, and the chain is periodic."""

    spacing: int = 1
    copies: int = 1
    left_out: int = 0
    mirrors: bool = True
    closed: bool = False

    def period(self, bins: int) -> int:
        """Bins of a group, with those that are left out beside it."""
        return bins // self.spacing // self.copies


class CutTarget(NamedTuple):
    """What a chain has to dominate for one group, beside the common part of all groups."""

    bounds: LagBounds
    common: float
    bins: int
    beside: int | None
    closed: bool = False

    def mixture(self, fit: ChainFit) -> ChainMixture:
        """One group under a fit that dominates the bounds: equal groups, averaged, dominate."""
        common, chain, own, rho = fit
        if self.closed:
            chain *= float(ring_kernel(rho, self.bins)[0])
        amplitudes = np.ones(self.bins)
        if not (self.bounds.ring or self.bounds.endless):
            amplitudes = self.bounds.amplitudes
        common += self.common
        return ChainMixture(common, chain, own, rho, amplitudes, self.beside, self.closed)


def whole_line(line: LagBounds) -> CutTarget:
    """All bins of a line, in one group."""
    return CutTarget(line, 0.0, line.bins, None)


def thinned_line(line: LagBounds, spacing: int) -> CutTarget:
    """Every `spacing`-th bin of a line, whichever the first.

    The classes have bins // spacing bins or one more; one of these is left out in turn, and those
    behind it are numbered anew. Bounds that do not increase, with the distance and with the
    position, cover that.
    """
    kept = line.bins // spacing
    values = falling(line.values)[::spacing][:kept]
    amplitudes = falling(line.amplitudes)[::spacing][:kept]
    return CutTarget(LagBounds(values, amplitudes, False), 0.0, kept, None)


def cut_ring(ring: LagBounds, cut: Cut, most_lags: int | None = None) -> CutTarget:
    """What is left of a ring without amplitudes.

    A chain between mirrors has to dominate the ring of every `spacing`-th bin, or with `most_lags`
    bounds for any number of bins: entries at so many lags and beyond then count as common to all.
    """
    around, period = ring.bins // cut.spacing, cut.period(ring.bins)
    bins = period - cut.left_out
    half = falling(ring.values[: ring.bins // 2 + 1])
    d = np.arange(around)
    values = half[np.minimum(cut.spacing * np.minimum(d, around - d), half.size - 1)]
    if cut.closed:
        whole = LagBounds(values, np.ones(around), True)
        return CutTarget(whole, 0.0, around, None, closed=True)
    if cut.mirrors:
        bounds, common = LagBounds(values, np.ones(around), True), 0.0
        if most_lags is not None:
            lags = max(min(most_lags, period * cut.copies // 2), 1)
            common = float(values[lags])
            bounds = LagBounds(values[:lags] - common, np.ones(lags), False, endless=True)
        return CutTarget(bounds, common, bins, cut.left_out // 2)
    if cut.copies == 1:
        return CutTarget(LagBounds(values[:bins], np.ones(bins), False), 0.0, bins, None)
    # What is left ends before the gap: bounds for groups of any size.
    far = float(values[cut.left_out + 1])
    near = np.zeros(2 * cut.left_out + FREE_LAGS)
    near[: cut.left_out + 1] = np.maximum(values[: cut.left_out + 1] - far, 0.0)
    return CutTarget(LagBounds(near, np.ones(near.size), False, endless=True), far, bins, None)


def falling(values: FloatArray) -> FloatArray:
    """The smallest sequence above that does not increase."""
    result: FloatArray = np.maximum.accumulate(values[::-1])[::-1]
    return result
