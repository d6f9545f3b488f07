"""`Calibration`: what `calibrate` returns."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.guarantee import Guarantee

__all__ = ["Calibration"]


@dataclass(frozen=True)
class Calibration:
    """The smallest noise that was found to meet a target, with its guarantee.

    Attributes
    ----------
    noise_multiplier
        The standard deviation of the noise over the clip norm.
    guarantee
        What a run with this noise guarantees, as `account` gives it for the same settings;
        `guarantee.epsilon(delta) <= epsilon`.
    epsilon, delta
        The target.
    evaluations
        How many noise multipliers were evaluated, or tested by draws.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.calibrate(hs.Plan(sampling=hs.FullBatch(), steps=4), epsilon=1.0, delta=1e-5)
    >>> found.guarantee.epsilon(found.delta) <= found.epsilon
    True
    """

    noise_multiplier: float
    guarantee: Guarantee
    epsilon: float
    delta: float
    evaluations: int
