"""What a draw contributes to delta.

delta(epsilon) is the mean of the hockey stick, 1 - e^epsilon/LR with the example and
1 - e^epsilon LR without it, where positive. Draws from a proposal count with their weight w, the
density of the run over that of the proposal.

Draws from a good proposal R have payoffs Z = w * hockey stick of about the same size, but nothing
is known about the largest. So delta is split at a cap T: delta = E_R[min(Z, T)] + E_R[(Z - T)+].
The first part is a mean of draws in [0, T]; the second part is E_P[hockey stick * (1 - T/Z)+], a
mean over the run itself of draws that are nearly always 0.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation import Drawn

__all__ = ["Part", "Payoff", "payoffs"]

Part = Literal["whole", "capped", "excess"]


class Payoff(NamedTuple):
    """The hockey stick at `epsilon`, or a part of it: up to the cap, or what exceeds it.

    The excess refers to the proposal that is the simulation's `reference`.
    """

    epsilon: float
    part: Part = "whole"
    cap: float = np.inf


def payoffs(drawn: Drawn, payoff: Payoff, *, present: bool) -> FloatArray:
    """The payoff of each draw, by noise level and draw."""
    sign = -1.0 if present else 1.0
    stick = np.maximum(-np.expm1(np.minimum(payoff.epsilon + sign * drawn.losses, 0.0)), 0.0)
    worth = _weighted(stick, drawn.log_weights)
    if payoff.part == "capped":
        worth = np.minimum(worth, payoff.cap)
    elif payoff.part == "excess":
        reference = _weighted(stick, drawn.log_references)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.where(reference > payoff.cap, 1 - payoff.cap / reference, 0.0)
        # NaN stays NaN, so that it passes no trial.
        worth = np.where(np.isnan(reference), np.nan, worth * over)
    return worth


def _weighted(stick: FloatArray, log_weights: FloatArray | None) -> FloatArray:
    """The payoff with its weight, which may overflow where the stick is 0."""
    if log_weights is None:
        return stick
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(stick == 0, 0.0, stick * np.exp(log_weights))
