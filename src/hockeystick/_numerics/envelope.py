"""Comparing profiles as convex functions: maximum, convex minimum, and domination.

A law is the function C(g) = E_Q(LR - g)+ (P at infinity added), convex and piecewise linear with a
corner at every atom. At g = e^l it is followed through its *delta*: H(P || Q) at e^l where l >= 0,
and H(Q || P) at e^-l where l < 0. That is the small quantity on either side, so tails keep their
relative accuracy; the two are related by C(g) = g H(Q || P)(1/g) + 1 - g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import (
    SAME_LOSS,
    FloatArray,
    Law,
    from_losses,
    joined,
    reverse,
    without_atoms,
)

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["ALIGN", "deltas", "dominates", "law_of_deltas", "maximum", "minimum"]

# Relative allowance for floating point where two profiles touch.
TOUCH = 1e-12
# Losses of two laws that are this close, relative to their size, are taken to be equal; who needs
# a bound moves the losses of the result outwards by as much.
ALIGN = 1e-9
# Losses smaller than this share of the profile at loss 0 are 0: sums of losses that cancel leave
# such remainders, and moving all mass by so little does not change the profile.
ZERO_LOSS = 1e-15


def deltas(law: Law, loss: FloatArray) -> FloatArray:
    """The delta of the law at each loss, of whichever direction is the small one there."""
    heights = _hockey_sticks(law, np.maximum(loss, 0.0))
    reversed_deltas = _hockey_sticks(reverse(law), np.maximum(-loss, 0.0))
    return np.where(loss >= 0, heights, reversed_deltas)


def dominates(lower: Law, upper: Law, slack: float) -> bool:
    """Whether the profile `lower` is at least `upper`, up to `slack`, at every g > 0.

    The difference of two piecewise linear functions is smallest at a corner or in the limit: all
    corners of both are checked, and P at infinity and Q at zero.
    """
    corners = _corners(lower, upper)
    enough = deltas(lower, corners) * (1 + TOUCH) + slack >= deltas(upper, corners)
    infinite = lower.p_infinite * (1 + TOUCH) + slack >= upper.p_infinite
    zero = lower.q_zero * (1 + TOUCH) + slack >= upper.q_zero
    return bool(infinite and zero and np.all(enough))


def maximum(a: Law, b: Law) -> Law:
    """The law whose profile is the pointwise maximum of the two."""
    a, b = _aligned(a, b)
    corners = _corners(a, b)
    corners = np.union1d(corners, _crossings(corners, deltas(a, corners) - deltas(b, corners)))
    top = np.maximum(deltas(a, corners), deltas(b, corners))
    p_infinite, q_zero = max(a.p_infinite, b.p_infinite), max(a.q_zero, b.q_zero)
    centre = max(_reversed_at_zero(a), _reversed_at_zero(b))
    return _law_of(corners, top, centre, (a, b), p_infinite=p_infinite, q_zero=q_zero)


def minimum(a: Law, b: Law) -> Law:
    """The law whose profile is the largest convex function below both."""
    a, b = _aligned(a, b)
    corners = _corners(a, b)
    low = np.minimum(deltas(a, corners), deltas(b, corners))
    kept = _kernels().lower_hull(corners, low)
    corners, low = corners[kept], low[kept]
    centre = min(_reversed_at_zero(a), _reversed_at_zero(b))
    if 0.0 not in corners:
        corners, low, centre = _with_centre(corners, low)
    p_infinite, q_zero = min(a.p_infinite, b.p_infinite), min(a.q_zero, b.q_zero)
    return _law_of(corners, low, centre, (a, b), p_infinite=p_infinite, q_zero=q_zero)


def law_of_deltas(loss: FloatArray, delta: FloatArray) -> Law:
    """The law of the largest convex function below upper bounds on a profile, given as deltas.

    `loss` increases and holds 0. Beyond its ends the profile is bounded by the last delta: mass at
    infinity and at LR = 0.
    """
    kept = _kernels().lower_hull(loss, delta)
    loss, delta = loss[kept], delta[kept]
    if 0.0 in loss:
        centre = float(delta[loss == 0.0][0])
    else:
        loss, delta, centre = _with_centre(loss, delta)
    ends = {"p_infinite": float(delta[-1]), "q_zero": float(delta[0])}
    return _law_of(loss, delta, centre, (), **ends)


def _kernels() -> ModuleType:
    from hockeystick._numerics import kernels

    return kernels


def _aligned(a: Law, b: Law) -> tuple[Law, Law]:
    """Both laws, with losses that differ only by floating-point noise made equal.

    Otherwise slopes would be taken over intervals that consist of noise.
    """
    zero = ZERO_LOSS * min(_reversed_at_zero(law) for law in (a, b, reverse(a), reverse(b)))
    scale = zero / SAME_LOSS
    a, b = (
        joined(np.where(np.abs(x.loss) < zero, 0.0, x.loss), *x[1:], scale=scale) for x in (a, b)
    )
    right = np.clip(np.searchsorted(a.loss, b.loss), 1, a.loss.size - 1) if a.loss.size > 1 else 0
    left = np.maximum(right - 1, 0)
    nearest = np.where(
        np.abs(a.loss[left] - b.loss) < np.abs(a.loss[right] - b.loss), a.loss[left], a.loss[right]
    )
    noise = ALIGN * np.abs(b.loss)
    near = np.where(np.abs(nearest - b.loss) <= noise, nearest, b.loss)
    return a, joined(near, *b[1:], scale=scale)


def _corners(a: Law, b: Law) -> FloatArray:
    """All atoms of both laws; 0 is added so that no interval mixes the two directions."""
    ends = max(abs(law.loss[i]) for law in (a, b) for i in (0, -1)) + 1.0
    return np.unique(np.concatenate((a.loss, b.loss, [-ends, 0.0, ends])))


def _hockey_sticks(law: Law, loss: FloatArray) -> FloatArray:
    """H(P || Q) at e^l for many l, from sums of positive terms."""
    heights, slopes = _kernels().suffix_sums(law.loss, law.p)
    above = np.searchsorted(law.loss, loss, side="left")
    index = np.minimum(above, law.loss.size - 1)
    gap = np.minimum(loss - law.loss[index], 0.0)
    value = heights[index] - slopes[index] * np.expm1(gap)
    result: FloatArray = law.p_infinite + np.where(above < law.loss.size, value, 0.0)
    return result


def _reversed_at_zero(law: Law) -> float:
    """H(Q || P) at 1. It equals H(P || Q) at 1 only as far as the masses of both add up to one."""
    return float(_hockey_sticks(reverse(law), np.zeros(1))[0])


def _crossings(corners: FloatArray, gap: FloatArray) -> FloatArray:
    """Losses where a function with the given values, linear in e^l (in e^-l below 0), is zero."""
    change = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    left, right = corners[change], corners[change + 1]
    share = gap[change] / (gap[change] - gap[change + 1])
    width = np.expm1(np.minimum(right - left, 700.0))
    crossing: FloatArray = np.where(
        left >= 0, left + np.log1p(share * width), right - np.log1p((1 - share) * width)
    )
    return crossing


def _with_centre(loss: FloatArray, delta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The same corners with 0 among them, and its delta; C is linear between its neighbours."""
    after = int(np.searchsorted(loss, 0.0))
    # Beyond e^700 the share of the right neighbour is nothing.
    before, beyond = -np.expm1(loss[after - 1]), np.expm1(min(loss[after], 700.0))
    height = np.exp(loss[after - 1]) * delta[after - 1] + before
    centre = (height * beyond + delta[after] * before) / (before + beyond)
    return np.insert(loss, after, 0.0), np.insert(delta, after, centre), float(centre)


def _law_of(
    loss: FloatArray,
    delta: FloatArray,
    reversed_at_zero: float,
    parts: tuple[Law, ...],
    *,
    p_infinite: float,
    q_zero: float,
) -> Law:
    """The law with the given profile, which consists of pieces of `parts` and chords between them.

    Atoms are the changes of slope. On a piece of a part the slope is that part's own, so that no
    digits are lost; only on a chord it is a difference of deltas.
    """
    right, left = loss >= 0, loss <= 0
    p = _slope_changes(loss[right], delta[right], parts)
    mirrored = tuple(reverse(part) for part in parts)
    # Each side starts from its own delta at 0, which is the delta of its parts to all digits.
    reversed_deltas = np.append(delta[loss < 0], reversed_at_zero)
    q = _slope_changes(-loss[left][::-1], reversed_deltas[::-1], mirrored)[::-1]
    # Everything that is neither in a tail nor at an end sits at 0; P- and Q-mass agree there.
    centre = 1.0 - p_infinite - p.sum() - (q * np.exp(loss[loss < 0])).sum()
    main = np.concatenate((q, [max(centre, 0.0)], p))
    keep = main > 0
    if not keep.any():
        return without_atoms(p_infinite, q_zero)
    return from_losses(loss[keep], main[keep], p_infinite=p_infinite, q_zero=q_zero)


def _slope_changes(loss: FloatArray, delta: FloatArray, parts: tuple[Law, ...]) -> FloatArray:
    """P-mass of the corners after the first, for deltas at increasing losses from 0.

    Slopes are tails of the Q-mass, in P-units of the end of the interval that they belong to.
    """
    if loss.size < 2:
        return np.empty(0)
    gap = np.diff(loss)
    drop = np.maximum(delta[:-1] - delta[1:], 0.0)
    at_end = drop / -np.expm1(-gap)
    at_start = drop / np.expm1(np.minimum(gap, 700.0))
    for part in parts:
        _, slopes = _kernels().suffix_sums(part.loss, part.p)
        from_here = np.searchsorted(part.loss, loss, side="left")
        beyond = np.searchsorted(part.loss, loss, side="right")
        touches = np.abs(_hockey_sticks(part, loss) - delta) <= TOUCH * delta
        straight = touches[:-1] & touches[1:] & (beyond[:-1] == from_here[1:])
        at_end = np.where(straight, _slope(part, slopes, from_here, loss)[1:], at_end)
        at_start = np.where(straight, _slope(part, slopes, beyond, loss)[:-1], at_start)
    masses: FloatArray = np.maximum(at_end - np.append(at_start[1:], 0.0), 0.0)
    return masses


def _slope(part: Law, slopes: FloatArray, first: NDArray[np.int64], loss: FloatArray) -> FloatArray:
    """Sum of p_j e^(l - l_j) over the atoms from `first` on."""
    index = np.minimum(first, part.loss.size - 1)
    inside = slopes[index] * np.exp(np.minimum(loss - part.loss[index], 0.0))
    return np.where(first < part.loss.size, inside, 0.0)
