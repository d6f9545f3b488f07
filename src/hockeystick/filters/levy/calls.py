"""Profiles of a Gaussian pair times independent jumps."""

from __future__ import annotations

from typing import NamedTuple

from hockeystick._numerics.law import FloatArray
from hockeystick.filters.levy.jump_lattice import JumpLattice

__all__ = ["Calls", "levy_calls"]


class Calls(NamedTuple):
    """At each loss: H, a bound on its error, minus its slope times e^loss, its slope in mu^2."""

    call: FloatArray
    error: FloatArray
    other: FloatArray
    vega: FloatArray


def levy_calls(
    jumps: JumpLattice, mu: float, loss: FloatArray, *, reverse: bool, unseen: float = 0.0
) -> Calls:
    """H(P || Q) at e^loss, or H(Q || P) if `reverse`, for mu > 0.

    Given a jump of loss j the rest is a Gaussian pair: H = sum p_j H_mu(loss - j), and reversed
    sum q_j H_mu(loss + j). Jumps that the lattice leaves out are left out, and so are the rarest
    ones up to a total of `unseen`: a lower bound.
    """
    from hockeystick.filters.levy.kernels import gaussian_calls

    offset, weight = (-jumps.loss, jumps.q) if reverse else (jumps.loss, jumps.p)
    seen = weight > unseen / weight.size
    call, error, other, vega = gaussian_calls(loss, mu, offset[seen], weight[seen])
    # Losses that are off change weights and thresholds.
    error += jumps.error * call + 2 * jumps.shift * (call + other)
    return Calls(call, error, other, vega)
