"""The majorants that may be best for a Gram matrix: a cut into groups, and a chain for one of them.

Each is made when the search asks for it, and kept.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order import (
    ChainFit,
    LagBounds,
    by_distance,
    compensated_cover,
    cover,
    ring_cover,
)
from hockeystick.analyses.gram.order.chains import ChainMixture
from hockeystick.analyses.gram.order.groups import (
    Cut,
    CutTarget,
    cut_ring,
    thinned_line,
    whole_line,
)
from hockeystick.analyses.gram.order.moving_average import few_bands_above, two_bands
from hockeystick.analyses.gram.search import SETTINGS, GramSettings
from hockeystick.analyses.gram.search.evaluation import (
    CHAINS,
    GramCandidate,
    Layout,
    banded,
    opened,
)
from hockeystick.analyses.gram.search.programmes import GRAIN, best_majorant

__all__ = ["Majorants", "tilts"]


def tilts(largest: float, settings: GramSettings = SETTINGS) -> list[float]:
    """Tilts of majorants, and minorants, for a largest entry."""
    middle = settings.tilt_offset + settings.tilt_quantile / math.sqrt(largest)
    return [factor * middle for factor in settings.tilts]


class Majorants:
    """Majorants of a Gram matrix, given in full or by bounds on its entries by distance."""

    def __init__(self, gram: FloatArray, settings: GramSettings = SETTINGS) -> None:
        self._settings = settings
        self.matrix = gram
        self._kernel = gram if gram.ndim == 2 else None
        self._lags = gram if self._kernel is None else by_distance(gram)
        self._fits: dict[tuple[Layout, float], ChainFit | None] = {}
        self._distinct: dict[tuple[object, ...], GramCandidate] = {}

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self._lags.size

    @property
    def largest(self) -> float:
        """The largest entry of the diagonal."""
        return float(self._lags[0])

    @property
    def shape(self) -> FloatArray:
        """The matrix for a largest entry of 1, rounded so that it is the same at every noise."""
        return np.asarray(np.round(self.matrix / self.largest / GRAIN) * GRAIN)

    def like(self, other: GramCandidate) -> GramCandidate | None:
        """What was made in the same way for a matrix of the same shape, whatever is known here."""
        if not isinstance(other.mixture, ChainMixture):
            return next((one for one in self.exact if one.name == other.name), None)
        if self.line is None and not isinstance(other.layout, Cut):
            return None
        bounds = self._target(other.layout).bounds
        fit = best_majorant(bounds, other.tilt, self._settings, other.mixture.rho)
        return None if fit is None else self._made(other.layout, other.tilt, fit)

    @property
    def tilts(self) -> list[float]:
        """For a diagonal of 1: powers of two around what suits the scale of the matrix."""
        middle = round(math.log2(self.largest * tilts(self.largest, self._settings)[1]))
        return [2.0**power for power in range(middle - 2, middle + 3)]

    @cached_property
    def ring(self) -> LagBounds:
        """On a ring."""
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
    def layouts(self) -> list[Layout]:
        """Where the search begins: a line in one piece, mirrors on a ring or where it is long."""
        settings = self._settings
        spacings = [1, *(one for one in settings.spacings if self.bins >= one * settings.fewest)]
        found: list[Layout] = [] if self.line is None else [*spacings]
        if self.line is None or self.bins > settings.short_line:
            found += [Cut(one, -(-self.bins // one // settings.first_group)) for one in spacings]
        if self.line is None and self.bins <= settings.longest_closed:
            found.append(Cut(closed=True))
        return found

    @property
    def first(self) -> list[GramCandidate]:
        """One for each layout, with the middle tilt; with others if there is none."""
        tilts = sorted(self.tilts, key=lambda tilt: tilt != self.tilts[len(self.tilts) // 2])
        for tilt in tilts:
            layouts = [other for one in self.layouts for other in self._usual(one, tilt)]
            found = [self.candidate(one, tilt) for one in layouts]
            if any(found):
                return [one for one in found if one is not None]
        return []

    def _usual(self, layout: Layout, tilt: float) -> list[Layout]:
        """A cut with bins left out beside mirrors, and with a gap, as far as they are allowed."""
        if not isinstance(layout, Cut) or layout.closed:
            return [layout]
        found: list[Layout] = [one for one in self._left_out(layout, tilt) if self._allowed(one)]
        return found[:1] + found[1:][-1:] or [layout]

    def shorter(self, one: GramCandidate) -> GramCandidate | None:
        """Twice as many groups; a line may fall into two, as part of a ring."""
        cut = opened(one.layout)
        return self._beside(one, cut._replace(copies=2 * cut.copies))

    def tilted(self, one: GramCandidate) -> list[GramCandidate]:
        """The same layout with the next tilts."""
        near = (tilt for tilt in self.tilts if tilt in (2 * one.tilt, one.tilt / 2))
        found = (self.candidate(one.layout, tilt) for tilt in near)
        return [other for other in found if other is not None]

    def halfway(self, one: GramCandidate) -> list[GramCandidate]:
        """The same layout with tilts halfway to the next ones."""
        found = (self.candidate(one.layout, one.tilt * factor) for factor in (2**0.5, 2**-0.5))
        return [other for other in found if other is not None]

    def closed(self, tilt: float) -> list[GramCandidate]:
        """Rings of not too many bins that stay closed, of all spacings."""
        settings = self._settings
        spacings = [1, *(one for one in settings.spacings if self.bins >= one * settings.fewest)]
        most = settings.longest_to_close if self.line is None else 0
        few = (one for one in spacings if self.bins // one <= most)
        found = [self.candidate(Cut(spacing, closed=True), tilt) for spacing in few]
        return [one for one in found if one is not None]

    def beside(self, one: GramCandidate) -> list[GramCandidate | None]:
        """All that differ in one choice: tilt, spacing, number of groups, bins left out."""
        cut, settings = opened(one.layout), self._settings
        tilts = self.tilted(one)
        spacings = [s for s in (1, *settings.spacings) if s in (2 * cut.spacing, cut.spacing / 2)]
        if not isinstance(one.layout, Cut):
            line = [self.candidate(s, one.tilt) for s in spacings]
            return [*tilts, *line, self.shorter(one)]
        found = [cut._replace(copies=2 * cut.copies)]
        if cut.copies > 1:
            found.append(cut._replace(copies=cut.copies // 2))
        for spacing in spacings:
            beside = 2 * _rounded(cut.left_out * cut.spacing / spacing / 2)
            left_out = beside if cut.mirrors else self._reach(spacing)
            as_long = max(round(cut.copies * cut.spacing / spacing), 1)
            near = Cut(spacing, as_long, left_out, cut.mirrors, one.layout.closed)
            found += [near, near._replace(copies=cut.copies)]
        found += self._left_out(cut, one.tilt)
        return [*tilts, *(self._beside(one, other) for other in found)]

    def _beside(self, one: GramCandidate, cut: Cut) -> GramCandidate | None:
        """With another cut, unless too few bins are left."""
        return self.candidate(cut, one.tilt) if self._allowed(cut) else None

    def _allowed(self, layout: Layout) -> bool:
        """Whether enough bins are left in a group."""
        if not isinstance(layout, Cut) or layout == Cut():
            return True
        settings, period = self._settings, layout.period(self.bins)
        return layout.left_out <= settings.most_left_out * period and period >= settings.fewest

    def _left_out(self, cut: Cut, tilt: float) -> list[Cut]:
        """Numbers of bins to leave out: beside mirrors about as many as suit the chain, or a gap.

        The number that suits best comes first.
        """
        cut, settings = cut._replace(left_out=0, mirrors=True), self._settings
        fit = self._fit(cut, tilt)
        found = [cut._replace(left_out=self._reach(cut.spacing), mirrors=False)]
        if fit is not None:
            suits = (math.log(settings.growth_at_mirrors) / math.log(max(fit.rho, 1e-9)) - 1) / 2
            counts = [2 * _rounded(factor * suits) for factor in settings.left_out]
            found = [*(cut._replace(left_out=count) for count in counts), *found]
        return found

    def candidate(self, layout: Layout, tilt: float) -> GramCandidate | None:
        """The best chain for a layout; None if there is none."""
        fit = self._fit(layout, tilt)
        return None if fit is None else self._with_fit(layout, tilt, fit)

    def _fit(self, layout: Layout, tilt: float) -> ChainFit | None:
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
            self._fits[key] = best_majorant(bounds, tilt, self._settings, near)
        return self._fits[key]

    def _with_fit(self, layout: Layout, tilt: float, fit: ChainFit) -> GramCandidate:
        """The same one for fits that agree to a few digits: many tilts have the same majorant."""
        known = (layout, *(float(f"{part:.{self._settings.digits}g}") for part in fit))
        if known not in self._distinct:
            self._distinct[known] = self._made(layout, tilt, fit)
        return self._distinct[known]

    def _made(self, layout: Layout, tilt: float, fit: ChainFit) -> GramCandidate:
        copies = layout.copies if isinstance(layout, Cut) else 1
        mixture = self._target(layout).mixture(fit)
        return GramCandidate(_name(layout), mixture, CHAINS, copies, layout, tilt)

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


def _rounded(count: float) -> int:
    """To 0, a power of two, or three halves of one: others are hardly different."""
    if count < 0.5:
        return 0
    below = 1 << math.floor(math.log2(max(count, 1.0)))
    return min((below, 3 * below // 2, 2 * below), key=lambda one: abs(one - count))


def _name(layout: Layout) -> str:
    """For a report."""
    if isinstance(layout, int):
        return "line" if layout == 1 else f"line, every {layout} bins"
    between = "mirrors" if layout.mirrors else "gaps"
    if layout.closed:
        return "ring" if layout.spacing == 1 else f"ring, every {layout.spacing} bins"
    every = "" if layout.spacing == 1 else f", every {layout.spacing} bins"
    return f"{layout.copies} between {between}{every}, {layout.left_out} left out"
