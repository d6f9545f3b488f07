"""The majorants that may be best for a Gram matrix: a cut into groups, and a chain for one of them.

Each is made when the search asks for it, and kept.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order.cuts import Cut, CutTarget, cut_ring, thinned_line, whole_line
from hockeystick.analyses.gram.order.domination import ChainFit
from hockeystick.analyses.gram.order.lag_bounds import (
    LagBounds,
    by_distance,
    compensated_cover,
    cover,
    ring_cover,
)
from hockeystick.analyses.gram.order.moving_average import (
    few_bands_above,
    two_bands,
)
from hockeystick.analyses.gram.search.evaluation import (
    CHAINS,
    GramCandidate,
    Layout,
    banded,
)
from hockeystick.analyses.gram.search.programmes import best_majorant
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings

__all__ = ["Majorants", "usual_tilt"]


def usual_tilt(largest: float, settings: GramSettings = SETTINGS) -> float:
    """The tilt that suits a largest entry."""
    return settings.tilt_offset + settings.tilt_quantile / math.sqrt(largest)


class Majorants:
    """Majorants of a Gram matrix, given in full or by bounds on its entries by distance."""

    def __init__(self, gram: FloatArray, settings: GramSettings = SETTINGS) -> None:
        self._settings = settings
        self._kernel = gram if gram.ndim == 2 else None
        self._lags = gram if self._kernel is None else by_distance(gram)
        self._fits: dict[tuple[Layout, int], ChainFit | None] = {}
        self._distinct: dict[tuple[object, ...], GramCandidate] = {}

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self._lags.size

    @property
    def usual_tilt(self) -> int:
        """For a diagonal of 1, as a number of steps of sqrt(2): what suits the scale."""
        largest = float(self._lags[0])
        return round(2 * math.log2(largest * usual_tilt(largest, self._settings)))

    @cached_property
    def ring(self) -> LagBounds:
        """Bounds on a ring."""
        return ring_cover(self._lags)

    @cached_property
    def line(self) -> LagBounds | None:
        """Bounds on all entries of a line; those that lower some of them only if much is gained."""
        if self._kernel is None or self.bins > self._settings.longest_line:
            return None
        plain = cover(self._kernel)
        if plain.ring:
            return None
        compensated = compensated_cover(self._kernel)
        better = compensated.total < self._settings.much_less * plain.total
        return compensated if better else plain

    @property
    def spacings(self) -> list[int]:
        """Every how many bins are kept: as long as enough of them are left."""
        settings = self._settings
        return [one for one in settings.spacings if one == 1 or self.bins >= one * settings.fewest]

    def open_cuts(self) -> list[GramCandidate]:
        """With the usual tilt: a line in one piece, mirrors or gaps on a ring or a long line."""
        settings, found = self._settings, list[Layout]()
        for spacing in self.spacings:
            around = self.bins // spacing
            if self.line is not None:
                found.append(spacing)
            if self.line is None or around > settings.short_line:
                cut = Cut(spacing, -(-around // settings.largest_group))
                gap = cut._replace(left_out=self._reach(spacing), mirrors=False)
                found += [self._mirrored(cut, self.usual_tilt, 1.0), gap]
        return self._candidates(found, self.usual_tilt)

    def closed_cuts(self, tilt: int) -> list[GramCandidate]:
        """Rings of few bins that stay closed, of all spacings."""
        if self.line is not None:
            return []
        longest = self._settings.longest_closed
        found = [s for s in self.spacings if self.bins // s <= longest]
        return self._candidates([Cut(s, closed=True) for s in found], tilt)

    def tilted(self, one: GramCandidate) -> list[GramCandidate]:
        """The same cut with the next tilts."""
        return [
            other
            for tilt in (one.tilt - 1, one.tilt + 1)
            for other in self._candidates([one.layout], tilt)
            if abs(tilt - self.usual_tilt) <= self._settings.farthest_tilt
        ]

    def beside(self, one: GramCandidate) -> list[GramCandidate]:
        """The same in twice as many groups, or with other numbers of bins beside mirrors."""
        layout, settings = one.layout, self._settings
        if not isinstance(layout, Cut) or layout.closed:
            return []
        found: list[Layout] = [layout._replace(copies=2 * layout.copies)]
        if layout.mirrors:
            found += [self._mirrored(layout, one.tilt, factor) for factor in settings.left_out]
        return self._candidates(found, one.tilt)

    def _candidates(self, layouts: list[Layout], tilt: int) -> list[GramCandidate]:
        found = [self.candidate(one, tilt) for one in layouts if self._allowed(one)]
        return [one for one in found if one is not None]

    def _allowed(self, layout: Layout) -> bool:
        """Whether enough bins are left in a group."""
        if not isinstance(layout, Cut) or layout.closed:
            return True
        settings, period = self._settings, layout.period(self.bins)
        return layout.left_out <= settings.most_left_out * period and period >= settings.fewest

    def _mirrored(self, cut: Cut, tilt: int, factor: float) -> Cut:
        """Mirrors with about as many bins left out beside them as suit the chain."""
        cut = cut._replace(left_out=0)
        fit = self._fit(cut, tilt)
        if fit is None:
            return cut
        growth = self._settings.growth_at_mirrors
        suits = (math.log(growth) / math.log(max(fit.rho, 1e-9)) - 1) / 2
        return cut._replace(left_out=2 * round(max(factor * suits, 0.0)))

    def candidate(self, layout: Layout, tilt: int) -> GramCandidate | None:
        """The best chain for a layout; None if there is none."""
        fit = self._fit(layout, tilt)
        return None if fit is None else self._with_fit(layout, tilt, fit)

    def _fit(self, layout: Layout, tilt: int) -> ChainFit | None:
        """Between mirrors the same one for all copies and whatever is left out."""
        base = layout
        if isinstance(layout, Cut) and not layout.closed:
            alike = layout.copies > 1 and (self._around(layout) or not layout.mirrors)
            base = layout._replace(copies=2 if alike else 1)
            base = base._replace(left_out=0) if layout.mirrors else base
        key = base, tilt
        if key not in self._fits:
            bounds = self._target(layout).bounds
            known = (fit.rho for (other, _), fit in self._fits.items() if fit and other == base)
            near = next(known, None)
            self._fits[key] = best_majorant(bounds, 2.0 ** (tilt / 2), self._settings, near)
        return self._fits[key]

    def _with_fit(self, layout: Layout, tilt: int, fit: ChainFit) -> GramCandidate:
        """The same one for fits that agree to a few digits: many tilts have the same majorant."""
        digits = self._settings.digits
        known = (layout, *(float(f"{part:.{digits}g}") for part in fit))
        if known not in self._distinct:
            copies = layout.copies if isinstance(layout, Cut) else 1
            mixture = self._target(layout).mixture(fit)
            self._distinct[known] = GramCandidate(
                _name(layout), mixture, CHAINS, copies, layout, tilt
            )
        return self._distinct[known]

    def _target(self, layout: Layout) -> CutTarget:
        if isinstance(layout, Cut):
            return cut_ring(self.ring, layout, self._around(layout))
        assert self.line is not None
        return whole_line(self.line) if layout == 1 else thinned_line(self.line, layout)

    def _around(self, layout: Cut) -> int | None:
        """The lags of a certificate for any number of bins; None for a ring that is short."""
        settings = self._settings
        if self.bins // layout.spacing <= settings.longest_ring or layout.copies == 1:
            return None
        return min(2 * self._reach(layout.spacing) + settings.more_lags, settings.most_lags)

    def _reach(self, spacing: int) -> int:
        """Up to which distance on a ring bins share more than a negligible amount."""
        half = self.ring.values[: self.bins // 2 + 1]
        far = half > half.min() + self._settings.negligible * half[0]
        return int(np.flatnonzero(far).max(initial=0)) // spacing

    @cached_property
    def exact(self) -> list[GramCandidate]:
        """The matrix itself, if it has few bands: on a line, or on an arc of a ring.

        Lattices cost a power of the number of bands, so that chains are ahead unless there are two,
        or the budget is large; nothing but the lattice is lost.
        """
        if self._kernel is None or self.bins > self._settings.longest_exact:
            return []
        pair = two_bands(self._kernel)
        known = [] if pair is None else [banded("two bands", pair[0])]
        if self.line is not None and known:
            return known
        kernel = self._kernel
        if self.line is None:
            gap = self._reach(1)
            if gap > self._settings.most_left_out * self.bins:
                return known
            cut = Cut(left_out=gap, mirrors=False)
            kernel = cut_ring(self.ring, cut, 0).bounds.by_distance
        found = few_bands_above(kernel, self._settings.most_bands)
        return known if found is None else [*known, banded(f"{found.bands} bands", found)]


def _name(layout: Layout) -> str:
    """For a report."""
    if isinstance(layout, int):
        return "line" if layout == 1 else f"line, every {layout} bins"
    between = "mirrors" if layout.mirrors else "gaps"
    if layout.closed:
        return "ring" if layout.spacing == 1 else f"ring, every {layout.spacing} bins"
    every = "" if layout.spacing == 1 else f", every {layout.spacing} bins"
    return f"{layout.copies} between {between}{every}, {layout.left_out} left out"
