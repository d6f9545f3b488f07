"""What is to be dominated, and the majorants that may be best for it.

All bins, an arc of a ring that leaves out a few neighbours (whose position may be revealed), or
every second, third or fourth bin (of which the class may be revealed).
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.gram_order import best_majorant
from hockeystick._numerics.lag_bounds import LagBounds, cover, ring_cover
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.paid_cover import paid_cover
from hockeystick.analyses.gram_candidates import Candidate

__all__ = ["candidates", "targets"]

# How much more the weights of a majorant favour the diagonal than the sum. Where one bin decides,
# its X is near v + z sqrt(v) for a diagonal v; what a bin with the covariance r v then adds, beside
# it, falls like e^(-(1 - r) (z sqrt(v) + ...)): e^(boldness K) with the boldness z / sqrt(v) + ...
BOLDNESS, FARTHEST, LEAST = (0.35, 0.6, 1.0, 1.6), 4.0, 0.15
# Every so-many-th bin alone, where neighbours at that distance have this much in common.
SPACINGS, CLOSE, FEWEST_BINS = (2, 3, 4), 0.45, 16
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


def candidates(kernel: FloatArray) -> list[Candidate]:
    """Majorants of all targets, for all weights; many weights have the same one."""
    kept: dict[tuple[object, ...], Candidate] = {}
    bold = LEAST + FARTHEST / math.sqrt(float(kernel.max()))
    for name, target in targets(kernel).items():
        for boldness in BOLDNESS:
            one = best_majorant(target, 1.0, bold * boldness)
            kept[name, one.rho, one.common, one.chain, one.own] = Candidate(name, one)
    return list(kept.values())


def _whole(kernel: FloatArray) -> LagBounds:
    """Bounds on all entries; those that pay for some on the diagonal only if much is gained."""
    plain, paid = cover(kernel), paid_cover(kernel)
    return paid if paid.total < MUCH_LESS * plain.total else plain


def _neighbours(values: FloatArray) -> int:
    """Up to which distance on a ring bins have more in common than a negligible amount."""
    half = values[: values.size // 2 + 1]
    far = half > half.min() + NEGLIGIBLE * half[0]
    return int(np.flatnonzero(far)[-1]) if far.any() else 0
