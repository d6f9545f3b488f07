"""Moving atoms away from loss 0 without losing mass."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.cells import mixture
from hockeystick._numerics.law import FloatArray, Law, from_losses

__all__ = ["spread_outwards"]


def spread_outwards(law: Law, loss: FloatArray) -> Law:
    """The law with its atoms at the given losses, each on the same side of 0 and farther out.

    Moving an atom alone would change the mean of LR, and composition would multiply the change. So
    a share of it goes to loss 0 instead, such that Q-mass and P-mass stay what they are: a
    mean-preserving spread, which dominates. From |l| = a to b the share of the main mass is
    (e^-a - e^-b) / (1 - e^-b). A loss of -inf means LR = 0.
    """
    a, b = np.abs(law.loss), np.abs(loss)
    with np.errstate(invalid="ignore"):
        share = np.where(b > a, np.exp(-a) * np.expm1(a - b) / np.expm1(-b), 0.0)
    main = np.where(law.loss >= 0, law.p, law.q)
    rest = main * (1 - share)
    finite = np.isfinite(loss)
    moved = from_losses(
        loss[finite],
        rest[finite],
        p_infinite=law.p_infinite,
        q_zero=law.q_zero + float(rest[~finite].sum()),
    )
    returned = np.array([float((main * share).sum())])
    return mixture([moved, from_losses(np.zeros(1), returned)])
