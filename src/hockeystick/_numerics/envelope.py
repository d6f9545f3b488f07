"""Comparing profiles as convex functions: maximum, convex minimum, and domination.

A law is the function C(g) = E_Q(LR - g)+ (P at infinity added), convex and piecewise linear with a
corner at every atom. At g = e^l it is followed through a *price*: H(P || Q) at e^l where l >= 0,
and H(Q || P) at e^-l where l < 0. That is the small quantity on either side, so tails keep their
relative accuracy; the two are related by C(g) = g H(Q || P)(1/g) + 1 - g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, from_losses, reverse

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["dominates", "maximum", "minimum", "prices"]

# Relative allowance for floating point where two profiles touch.
TOUCH = 1e-12


def prices(law: Law, loss: FloatArray) -> FloatArray:
    """The profile of the law at the given losses, out of the money."""
    calls = _calls(law, np.maximum(loss, 0.0))
    puts = _calls(reverse(law), np.maximum(-loss, 0.0))
    return np.where(loss >= 0, calls, puts)


def dominates(lower: Law, upper: Law, slack: float) -> bool:
    """Whether the profile `lower` is at least `upper`, up to `slack`, at every g > 0.

    The difference of two piecewise linear functions is smallest at a corner or in the limit: all
    corners of both are checked, and P at infinity and Q at zero.
    """
    corners = _corners(lower, upper)
    enough = prices(lower, corners) * (1 + TOUCH) + slack >= prices(upper, corners)
    infinite = lower.p_infinite * (1 + TOUCH) + slack >= upper.p_infinite
    zero = lower.q_zero * (1 + TOUCH) + slack >= upper.q_zero
    return bool(infinite and zero and np.all(enough))


def maximum(a: Law, b: Law) -> Law:
    """The law whose profile is the pointwise maximum of the two."""
    corners = _corners(a, b)
    corners = np.union1d(corners, _crossings(corners, prices(a, corners) - prices(b, corners)))
    top = np.maximum(prices(a, corners), prices(b, corners))
    return _law_of(corners, top, max(a.p_infinite, b.p_infinite), max(a.q_zero, b.q_zero))


def minimum(a: Law, b: Law) -> Law:
    """The law whose profile is the largest convex function below both."""
    corners = _corners(a, b)
    low = np.minimum(prices(a, corners), prices(b, corners))
    kept = _kernels().lower_hull(corners, low)
    corners, low = _with_centre(corners[kept], low[kept])
    return _law_of(corners, low, min(a.p_infinite, b.p_infinite), min(a.q_zero, b.q_zero))


def _kernels() -> ModuleType:
    from hockeystick._numerics import kernels

    return kernels


def _corners(a: Law, b: Law) -> FloatArray:
    """All atoms of both laws; 0 is added so that no interval has a different price at each end."""
    ends = max(abs(law.loss[i]) for law in (a, b) for i in (0, -1)) + 1.0
    return np.unique(np.concatenate((a.loss, b.loss, [-ends, 0.0, ends])))


def _calls(law: Law, loss: FloatArray) -> FloatArray:
    """H(P || Q) at e^l for many l, from sums of positive terms."""
    calls, slopes = _kernels().suffix_calls(law.loss, law.p)
    above = np.searchsorted(law.loss, loss, side="left")
    index = np.minimum(above, law.loss.size - 1)
    gap = np.minimum(loss - law.loss[index], 0.0)
    value = calls[index] - slopes[index] * np.expm1(gap)
    result: FloatArray = law.p_infinite + np.where(above < law.loss.size, value, 0.0)
    return result


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


def _with_centre(loss: FloatArray, price: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same corners with 0 among them; C is linear between the neighbours of 0."""
    after = int(np.searchsorted(loss, 0.0))
    if loss[after] == 0.0:
        return loss, price
    left, right = np.exp(loss[after - 1]), np.exp(loss[after])
    call_left = left * price[after - 1] + 1 - left
    centre = call_left + (price[after] - call_left) * (1 - left) / (right - left)
    return np.insert(loss, after, 0.0), np.insert(price, after, centre)


def _law_of(loss: FloatArray, price: FloatArray, p_infinite: float, q_zero: float) -> Law:
    """The law with the given profile at its corners: atoms are the changes of slope."""
    right, left = loss >= 0, loss <= 0
    p = _slope_changes(loss[right], price[right])
    # At 0 both prices coincide: H(P || Q) = H(Q || P) at g = 1.
    q = _slope_changes(-loss[left][::-1], price[left][::-1])[::-1]
    # Everything that is neither in a tail nor at an end sits at 0; P- and Q-mass agree there.
    centre = 1.0 - p_infinite - p.sum() - (q * np.exp(loss[loss < 0])).sum()
    main = np.concatenate((q, [max(centre, 0.0)], p))
    keep = main > 0
    return from_losses(loss[keep], main[keep], p_infinite=p_infinite, q_zero=q_zero)


def _slope_changes(loss: FloatArray, price: FloatArray) -> FloatArray:
    """P-mass of the corners after the first, for calls at increasing losses from 0."""
    if loss.size < 2:
        return np.empty(0)
    gap = np.diff(loss)
    fall = np.maximum(price[:-1] - price[1:], 0.0)
    before = fall / -np.expm1(-gap)
    after = np.append((fall / np.expm1(np.minimum(gap, 700.0)))[1:], 0.0)
    masses: FloatArray = np.maximum(before - after, 0.0)
    return masses
