"""The majorants that may be best for a Gram matrix.

Targets are all bins, an arc of a ring that leaves out a few neighbours (whose position may be
revealed), or every second, third or fourth bin (of which the class may be revealed). Each has
majorants for several tilts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chain_sums import chain_sum_law, chain_work
from hockeystick.analyses.gram.law.moving_sums import moving_sum_law, moving_work
from hockeystick.analyses.gram.law.reading import SumLaw
from hockeystick.analyses.gram.law.task import MarkovMixture
from hockeystick.analyses.gram.order.chains import ChainMixture, TwoChains
from hockeystick.analyses.gram.order.lag_bounds import (
    LagBounds,
    compensated_cover,
    cover,
    ring_cover,
)
from hockeystick.analyses.gram.order.moving_average import (
    MovingAverage,
    few_bands_above,
    two_bands,
)
from hockeystick.analyses.gram.search.programmes import (
    best_majorant,
    score_of_chain,
    two_band_majorant,
    two_chain_majorant,
)
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings

__all__ = ["Extension", "GramCandidate", "banded", "candidates", "chained", "distinct", "tilts"]


class Recursion(NamedTuple):
    """How the law of a kind of mixture is computed, and about how many operations that takes."""

    law: Callable[[Any], SumLaw]
    work: Callable[[Any], float]


CHAINS = Recursion(chain_sum_law, chain_work)
MOVING_AVERAGES = Recursion(moving_sum_law, moving_work)


class Extension(NamedTuple):
    """A candidate with a second chain, and by how much its score is better."""

    candidate: GramCandidate
    gain: float


@dataclass(frozen=True, eq=False)
class GramCandidate:
    """A mixture that dominates, or is dominated, with its origin.

    `line` is the mixture of a ring cut open: no bound, but close, quick, and in the same order.
    `mirrored` is a majorant of the ring on a line. `second_chain` looks for a closer majorant with
    one more chain. One that is `expensive` is only tried where a coarse evaluation is affordable.
    """

    name: str
    mixture: MarkovMixture
    recursion: Recursion
    line: GramCandidate | None = None
    mirrored: GramCandidate | None = None
    between_mirrors: bool = False
    expensive: bool = False
    second_chain: Callable[[], Extension | None] = lambda: None

    @property
    def on_a_line(self) -> GramCandidate:
        """The candidate itself, or its line if it is a ring."""
        return self if self.line is None else self.line

    @property
    def kind(self) -> tuple[object, ...]:
        """What has lattices like its own."""
        return self.mixture.ring, self.between_mirrors, self.recursion


def chained(name: str, mixture: ChainMixture | TwoChains, **others: Any) -> GramCandidate:
    """A candidate with one chain or two."""
    line = GramCandidate(name, mixture.on_a_line(), CHAINS) if mixture.ring else None
    return GramCandidate(name, mixture, CHAINS, line=line, **others)


def banded(name: str, mixture: MovingAverage, *, expensive: bool = False) -> GramCandidate:
    """A candidate with few bands."""
    line = GramCandidate(name, mixture.on_a_line(), MOVING_AVERAGES) if mixture.ring else None
    return GramCandidate(name, mixture, MOVING_AVERAGES, line=line, expensive=expensive)


def candidates(kernel: FloatArray, settings: GramSettings = SETTINGS) -> list[GramCandidate]:
    """Majorants of all targets, for all tilts."""
    kept: dict[tuple[object, ...], GramCandidate] = {}
    scores: dict[float, float] = {}
    found = _targets(kernel, settings)
    for name, target in found.items():
        for tilt in tilts(kernel, settings):
            one = best_majorant(target, tilt, settings)
            key = (name, *distinct(one, target, settings))
            kept[key] = _with_alternatives(name, target, one, tilt, settings)
            score = score_of_chain(target, one, tilt, settings) - math.log(target.bins)
            scores[tilt] = min(score, scores.get(tilt, math.inf))
    return [
        *kept.values(),
        *_two_band_candidates(kernel, found, scores, settings),
        *_few_band_candidates(kernel, found, settings),
    ]


def tilts(kernel: FloatArray, settings: GramSettings = SETTINGS) -> list[float]:
    """Tilts of majorants, and minorants, that may be best at some noise and delta.

    Powers of a number over the largest entry: a little more noise has the same majorants, only
    smaller, so that epsilon does not jump.
    """
    largest = float(kernel.max())
    quantile = settings.tilt_offset + settings.tilt_quantile / math.sqrt(largest)
    least = settings.least_tilt * quantile * largest
    ratio = settings.tilt_ratio
    first = math.floor(math.log(least) / math.log(ratio))
    return [ratio**power / largest for power in range(first, first + settings.tilts)]


def distinct(mixture: ChainMixture, target: LagBounds, settings: GramSettings) -> tuple[float, ...]:
    """What mixtures of one target differ in, to a few digits: many tilts have the same one."""
    largest = target.values[0]
    parts = (mixture.rho, mixture.common / largest, mixture.chain / largest)
    return tuple(round(float(part), settings.digits) for part in parts)


def _targets(kernel: FloatArray, settings: GramSettings) -> dict[str, LagBounds]:
    """By name."""
    whole = _whole(kernel, settings)
    found = {"ring" if whole.ring else "line": whole}
    if whole.ring:
        plain = ring_cover(kernel)
        dropped = _correlated_neighbours(plain.values, settings)
        if dropped <= settings.most_dropped * plain.bins:
            found["arc"] = plain.cut_open(dropped)
    for spacing in settings.spacings:
        close = whole.values[min(spacing, whole.bins - 1)] >= settings.close * whole.values[0]
        enough = whole.bins >= settings.fewest_bins * spacing
        if close and enough and whole.bins % spacing == 0:
            found[f"every {spacing} bins"] = whole.thinned(spacing)
    return found


def _whole(kernel: FloatArray, settings: GramSettings) -> LagBounds:
    """Bounds on all entries; those that lower some of them only if much is gained."""
    plain, compensated = cover(kernel), compensated_cover(kernel)
    return compensated if compensated.total < settings.much_less * plain.total else plain


def _correlated_neighbours(values: FloatArray, settings: GramSettings) -> int:
    """Up to which distance on a ring bins share more than a negligible amount."""
    half = values[: values.size // 2 + 1]
    far = half > half.min() + settings.negligible * half[0]
    return int(np.flatnonzero(far)[-1]) if far.any() else 0


def _with_alternatives(
    name: str, target: LagBounds, one: ChainMixture, tilt: float, settings: GramSettings
) -> GramCandidate:
    """A chain with what may be closer, or quicker: a second chain, mirrors instead of a ring."""
    doubled = cache(partial(_second_chain, target, one, tilt, settings))
    mirrored = None
    if one.closes:
        mirrored = chained(
            name,
            one.between_mirrors(),
            between_mirrors=True,
            second_chain=partial(_extended, name, doubled, between_mirrors=True),
        )
    extended = partial(_extended, name, doubled, between_mirrors=False)
    return chained(name, one, mirrored=mirrored, second_chain=extended)


def _second_chain(
    target: LagBounds, single: ChainMixture, tilt: float, settings: GramSettings
) -> tuple[TwoChains, float] | None:
    """Two chains, and by how much their score is better."""
    found = two_chain_majorant(target, single, tilt, settings)
    if found is None:
        return None
    gain = score_of_chain(target, single, tilt, settings) - found[1]
    return (found[0], gain) if gain > 0 else None


def _extended(
    name: str, doubled: Callable[[], tuple[TwoChains, float] | None], *, between_mirrors: bool
) -> Extension | None:
    found = doubled()
    if found is None:
        return None
    mixture, gain = found
    if between_mirrors:
        mixture = mixture.between_mirrors()
    return Extension(chained(f"{name}, two chains", mixture, between_mirrors=between_mirrors), gain)


def _two_band_candidates(
    kernel: FloatArray,
    targets: dict[str, LagBounds],
    scores: dict[float, float],
    settings: GramSettings,
) -> list[GramCandidate]:
    """The matrix itself if it has no further bands, and majorants that beat all chains' scores.

    Those of all targets, and of the first residue classes that have two bands on their own.
    """
    exact = two_bands(kernel)
    found = [] if exact is None else [banded("two bands", exact[0])]
    whole = _whole(kernel, settings)
    spacing = _exact_spacing(whole, settings)
    if spacing is not None:
        targets = {**targets, f"every {spacing} bins": whole.thinned(spacing)}
    for name, target in targets.items():
        for tilt, least in scores.items():
            pair = two_band_majorant(target, tilt, settings)
            if pair is not None and pair[1] - math.log(target.bins) < least:
                found.append(banded(f"{name}, two bands", pair[0]))
                break
    return found


def _few_band_candidates(
    kernel: FloatArray, targets: dict[str, LagBounds], settings: GramSettings
) -> list[GramCandidate]:
    """The matrix itself on a line, or on an arc of a ring, if it has few bands but more than two.

    Their lattices cost a power of the number of bands, so that chains are ahead unless the budget
    is large; nothing but the lattice is lost.
    """
    exact = {"arc": targets["arc"].by_distance} if "arc" in targets else {"line": kernel}
    made = {name: few_bands_above(one, settings.most_bands) for name, one in exact.items()}
    return [
        banded(f"{name}, {one.bands} bands", one, expensive=True)
        for name, one in made.items()
        if one is not None and one.bands > 2
    ]


def _exact_spacing(whole: LagBounds, settings: GramSettings) -> int | None:
    """Every how-many-th bin shares nothing with the second next one, as few as possible."""
    half = whole.values[: whole.bins // 2 + 1] if whole.ring else whole.values
    # A matrix of equal entries reaches nowhere beyond what all have in common.
    beyond = half > half.min() + settings.negligible * half[0]
    reach = int(np.flatnonzero(beyond).max(initial=0))
    for spacing in range(2, whole.bins // settings.fewest_bins + 1):
        if whole.bins % spacing == 0 and 2 * spacing > reach:
            return spacing
    return None
