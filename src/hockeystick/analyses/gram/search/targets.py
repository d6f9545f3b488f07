"""What is to be dominated, and the majorants that may be best for it.

All bins, an arc of a ring that leaves out a few neighbours (whose position may be revealed), or
every second, third or fourth bin (of which the class may be revealed).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture
from hockeystick.analyses.gram.law.two_chains import TwoChains
from hockeystick.analyses.gram.order.lag_bounds import LagBounds, cover, ring_cover
from hockeystick.analyses.gram.order.majorants import best_majorant
from hockeystick.analyses.gram.order.moving_average import few_bands_above, two_bands
from hockeystick.analyses.gram.order.paid_cover import paid_cover
from hockeystick.analyses.gram.order.richer import (
    score_of_chain,
    two_band_majorant,
    two_chain_majorant,
)
from hockeystick.analyses.gram.search.candidates import MOVING, Candidate, Richer

__all__ = ["boldnesses", "candidates", "rounded_parts", "targets"]

# How much more the weights of a majorant favour the diagonal than the sum. Where one bin decides,
# its X is near v + z sqrt(v) for a diagonal v; what a bin with the covariance r v then adds, beside
# it, falls like e^(-(1 - r) (z sqrt(v) + ...)): e^(boldness K) with the boldness z / sqrt(v) + ...
LEAST_BOLD, BOLDER, WEIGHTS, FARTHEST, LEAST = 0.28, 1.65, 5, 4.0, 0.15
# Every so-many-th bin alone, where neighbours at that distance have this much in common.
SPACINGS, CLOSE, FEWEST_BINS = (2, 3, 4), 0.45, 16
# States of so many bands at most are looked at.
MOST_BANDS = 4
# Majorants that agree to so many digits are one.
HARDLY_DIFFERENT = 3
# An arc of a ring leaves out bins until the rest are this far below the diagonal, if they are few.
NEGLIGIBLE, MOST_DROPPED = 0.02, 0.2
# The sum of bounds that lower some entries, relative to that of bounds that do not.
MUCH_LESS = 0.98


def targets(kernel: FloatArray) -> dict[str, LagBounds]:
    """By name."""
    whole = _whole(kernel)
    found = {"ring" if whole.ring else "line": whole}
    if whole.ring:
        plain = ring_cover(kernel)
        dropped = _neighbours(plain.values)
        if dropped <= MOST_DROPPED * plain.bins:
            found["arc"] = plain.cut_open(dropped)
    for spacing in SPACINGS:
        close = whole.values[min(spacing, whole.bins - 1)] >= CLOSE * whole.values[0]
        if close and whole.bins % spacing == 0 and whole.bins >= FEWEST_BINS * spacing:
            found[f"every {spacing} bins"] = whole.thinned(spacing)
    return found


def boldnesses(kernel: FloatArray) -> list[float]:
    """Weights of majorants, and minorants, that may be best at some noise and delta.

    Powers of a number over the largest entry: a little more noise has the same majorants, only
    smaller, so that epsilon does not jump.
    """
    largest = float(kernel.max())
    least = LEAST_BOLD * (LEAST + FARTHEST / math.sqrt(largest)) * largest
    first = math.floor(math.log(least) / math.log(BOLDER))
    return [BOLDER**power / largest for power in range(first, first + WEIGHTS)]


def rounded_parts(mixture: ChainMixture, target: LagBounds) -> tuple[float, ...]:
    """What mixtures of one target differ in, to a few digits: many weights have the same one."""
    largest = target.values[0]
    parts = (mixture.rho, mixture.common / largest, mixture.chain / largest)
    return tuple(round(float(part), HARDLY_DIFFERENT) for part in parts)


def candidates(kernel: FloatArray) -> list[Candidate]:
    """Majorants of all targets, for all weights."""
    kept: dict[tuple[object, ...], Candidate] = {}
    scores: dict[float, float] = {}
    found = targets(kernel)
    for name, target in found.items():
        for weight in boldnesses(kernel):
            one = best_majorant(target, 1.0, weight)
            kept[name, *rounded_parts(one, target)] = _candidate(name, target, one, weight)
            score = score_of_chain(target, one, weight) - math.log(target.bins)
            scores[weight] = min(score, scores.get(weight, math.inf))
    return [
        *kept.values(),
        *_two_band_candidates(kernel, found, scores),
        *_few_band_candidates(kernel, found),
    ]


def _candidate(name: str, target: LagBounds, one: ChainMixture, boldness: float) -> Candidate:
    """A mixture with what may be closer, or quicker: a second chain, mirrors instead of a ring."""
    doubled = cache(partial(_second_chain, target, one, boldness))
    mirrored = None
    if one.closes:
        opened = replace(one, ring=False, mirrored=True)
        mirrored = Candidate(name, opened, richer=partial(_richer, name, doubled, mirrored=True))
    richer = partial(_richer, name, doubled, mirrored=False)
    return Candidate(name, one, richer=richer, mirrored=mirrored)


def _second_chain(
    target: LagBounds, single: ChainMixture, boldness: float
) -> tuple[TwoChains, float] | None:
    """Two chains, and by how much their score is better."""
    found = two_chain_majorant(target, single, boldness)
    if found is None:
        return None
    gain = score_of_chain(target, single, boldness) - found[1]
    return (found[0], gain) if gain > 0 else None


def _richer(
    name: str, doubled: Callable[[], tuple[TwoChains, float] | None], *, mirrored: bool
) -> Richer | None:
    found = doubled()
    if found is None:
        return None
    mixture, gain = found
    if mirrored:
        mixture = replace(mixture, ring=False, mirrored=True)
    return Richer(Candidate(f"{name}, two chains", mixture), gain)


def _two_band_candidates(
    kernel: FloatArray, tried: dict[str, LagBounds], scores: dict[float, float]
) -> list[Candidate]:
    """The matrix itself if it has no further bands, and majorants that beat all chains' scores.

    Those of all targets, and of the first residue classes that have two bands on their own.
    """
    exact = two_bands(kernel)
    found = [] if exact is None else [Candidate("two bands", exact[0], MOVING)]
    spacing = _exact_spacing(_whole(kernel))
    if spacing is not None:
        tried = {**tried, f"every {spacing} bins": _whole(kernel).thinned(spacing)}
    for name, target in tried.items():
        for boldness, least in scores.items():
            pair = two_band_majorant(target, boldness)
            if pair is not None and pair[1] - math.log(target.bins) < least:
                found.append(Candidate(f"{name}, two bands", pair[0], MOVING))
                break
    return found


def _few_band_candidates(kernel: FloatArray, found: dict[str, LagBounds]) -> list[Candidate]:
    """The matrix itself on a line, or on an arc of a ring, if it has few bands but more than two.

    Their lattices cost a power of the number of bands, so that chains are ahead unless the budget
    is large; nothing but the lattice is lost.
    """
    exact = {"line": kernel}
    if "arc" in found:
        exact = {"arc": found["arc"].by_distance}
    made = {name: few_bands_above(one, MOST_BANDS) for name, one in exact.items()}
    return [
        Candidate(f"{name}, {one.bands} bands", one, MOVING, dear=True)
        for name, one in made.items()
        if one is not None and one.bands > 2
    ]


def _exact_spacing(whole: LagBounds) -> int | None:
    """Every how-many-th bin has nothing in common with the second next one, as few as possible."""
    half = whole.values[: whole.bins // 2 + 1] if whole.ring else whole.values
    # A matrix of equal entries reaches nowhere beyond what all have in common.
    reach = int(np.flatnonzero(half > half.min() + NEGLIGIBLE * half[0]).max(initial=0))
    for spacing in range(2, whole.bins // FEWEST_BINS + 1):
        if whole.bins % spacing == 0 and 2 * spacing > reach:
            return spacing
    return None


def _whole(kernel: FloatArray) -> LagBounds:
    """Bounds on all entries; those that pay for some on the diagonal only if much is gained."""
    plain, paid = cover(kernel), paid_cover(kernel)
    return paid if paid.total < MUCH_LESS * plain.total else plain


def _neighbours(values: FloatArray) -> int:
    """Up to which distance on a ring bins have more in common than a negligible amount."""
    half = values[: values.size // 2 + 1]
    far = half > half.min() + NEGLIGIBLE * half[0]
    return int(np.flatnonzero(far)[-1]) if far.any() else 0
