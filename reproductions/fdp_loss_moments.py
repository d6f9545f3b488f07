"""Figures 6 to 9 of the f-DP filter paper: how good the approximate moments of the loss are.

Relative errors of the leading terms of Theorem 4.1 against quadrature, for one sampled Gaussian
with sensitivity 1: mean and variance of the loss under P, at small rates and at rates near 1.

Usage: python reproductions/fdp_loss_moments.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from curves import Drawing, Panels, curve, run
from hockeystick.fdp import approximate_moments, loss_moments
from hockeystick.fdp.moments import RegimeName

__all__ = ["draw", "main", "relative_error"]

NOISES = (0.8, 1.0, 2.0, 4.0, 8.0)
# Of q at small rates and of 1 - q at large ones.
DISTANCES = (1e-4, 0.2)
AXES: dict[RegimeName, str] = {"small": "rate q", "large": "1 − q"}


def relative_error(
    moment: str, *, rate: float, noise_multiplier: float, regime: RegimeName
) -> float:
    """Of the approximation, as a share of the true mean or variance under P."""
    exact = loss_moments(rate=rate, noise_multiplier=noise_multiplier)
    near = approximate_moments(rate=rate, noise_multiplier=noise_multiplier, regime=regime)
    truth: float = getattr(exact.p, moment)
    approximation: float = getattr(near.p, moment)
    return abs(approximation / truth - 1)


def draw(small: bool) -> Panels:
    """Four panels; in small mode three rates and two noises each."""
    noises = (1.0, 4.0) if small else NOISES
    count = 3 if small else 25
    panels = [
        _panel("Figure 6: mean, small rates", "mean", "small", noises, count),
        _panel("Figure 7: variance, small rates", "variance", "small", noises, count),
        _panel("Figure 8: mean, rates near 1", "mean", "large", noises, count),
        _panel("Figure 9: variance, rates near 1", "variance", "large", noises, count),
    ]
    title = "Relative errors of the approximate moments of the privacy loss"
    return Panels("fdp_loss_moments", title, panels, columns=2)


def _panel(
    title: str, moment: str, regime: RegimeName, noises: Sequence[float], count: int
) -> Drawing:
    """One line for each noise multiplier."""
    x = np.geomspace(*DISTANCES, count).tolist()

    def error(noise: float) -> Callable[[float], float]:
        return lambda place: relative_error(
            moment,
            rate=place if regime == "small" else 1 - place,
            noise_multiplier=noise,
            regime=regime,
        )

    return Drawing(
        name=title,
        title=title,
        x_label=AXES[regime],
        y_label="relative error",
        setting={"sensitivity": 1.0},
        curves=[curve(f"σ = {noise:g}", x, error(noise)) for noise in noises],
        marked=False,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
