"""Cell sums over pairs of atoms in linear space, where they are cheapest.

Masses are Q-masses, which far to the right are tiny beside the P-masses that they stand for, and
the product of two tinier still. So both factors are scaled up by 2^500: what a pair of atoms loses
to underflow then is below 5e-324 2^-1000 e^l, which for losses l up to 670 is below 1e-330.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from hockeystick._numerics.law import FloatArray, Law

__all__ = ["kernels", "linear_sums", "normalised"]

# Cells that start above this loss are summed through LR - 1.
SWITCH_LOSS = -0.5
# Both factors are scaled by this.
LOG_SCALE = 500 * np.log(2.0)
SCALE, UNSCALE = 2.0**500, 2.0**-1000
# Floating point moves the total by less than this in one operation.
LARGEST_DRIFT = 1e-9


def linear_sums(
    alpha: tuple[FloatArray, FloatArray],
    beta: FloatArray,
    a: Law,
    b: Law,
    nodes: FloatArray,
    *,
    symmetric: bool,
    skip_first: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Main mass, upper share and barycentre of rounding.py for LR = alpha_i + beta_i LR_j.

    The first of `alpha` is for LR itself, the second for LR - 1. A loss of -inf is LR = 0.
    """
    v_b = np.exp(b.loss), np.expm1(b.loss)
    v_nodes = np.exp(nodes), np.expm1(nodes)
    switch = int(np.searchsorted(nodes, SWITCH_LOSS))
    mass, sums = kernels().accumulate_linear(
        alpha, beta, _scaled(a), v_b, _scaled(b), v_nodes, switch, symmetric, skip_first
    )
    return _rounded(nodes, mass, np.maximum(sums, 0.0))


def _scaled(law: Law) -> FloatArray:
    """Q-masses, scaled, from whichever mass is the main one: the other may have underflowed."""
    positive = law.loss >= 0
    small = law.p * np.exp(LOG_SCALE - np.where(positive, law.loss, 0.0))
    return np.where(positive, small, law.q * SCALE)


def _rounded(
    nodes: FloatArray, mass: FloatArray, sums: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """From scaled sums of q and of q (v - v_k)."""
    x = np.exp(nodes)
    width = x[:-1] * np.expm1(np.diff(nodes))
    up = sums / np.where(width > 0, width, 1.0)
    start = mass * x[:-1]
    # Where a mass underflows the barycentre falls short, which only lowers a lower bound.
    offset = np.log1p(sums / np.where(start > 0, start, np.inf))
    # By the loss, not by x: a loss of -1e-17 has x = 1, and both must count in the same unit.
    positive = nodes[:-1] >= 0
    main = np.where(positive, start + sums, mass)
    return main * UNSCALE, np.where(positive, up * x[1:], up) * UNSCALE, offset


def normalised(law: Law) -> Law:
    """Q sums to one; floating-point drift would otherwise double with every squaring.

    A law that lacks more than that has been cut on purpose and stays as it is.
    """
    drift = float(law.q.sum()) + law.q_zero
    if abs(drift - 1) > LARGEST_DRIFT:
        return law
    return Law(law.loss, law.p / drift, law.q / drift, law.p_infinite, law.q_zero)


def kernels() -> ModuleType:
    """The compiled loops: Numba takes a third of a second to import, so on first use."""
    from hockeystick.profile.convolution import kernels as compiled

    return compiled
