"""Figure 4 of the sampling-free paper: how the failure probability may be divided among the steps.

The bound on the posterior probability of the bin with the largest level, in each step, outside a
bad event of probability 0.5e-5 (remove direction, four epochs of 100 bins). Two sound divisions: an
equal part for every step, and one threshold for all steps of a segment whose tail bounds add up
(the library's). The paper's two are UNSOUND, see unsound_allocation.py: they take the bound of the
worst step for all and count its probability once.

Usage: python reproductions/sampling_free_figure_4.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from curves import Curve, Drawing, Panels, run
from hockeystick import strategies
from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.analyses.conditional.posterior_tails import posterior_tails
from unsound_allocation import step_shares

EPOCHS, BAD_EVENT, QUANTILE = 4, 0.5e-5, 5.5
# Steps of an epoch that are drawn.
SHOWN = 25
UNION = "union over all steps"
OURS = "one threshold, tails summed (ours)"
PER_EPOCH = "UNSOUND: per-epoch max (e ≥ 2)"
MAX = "UNSOUND: max over all steps"


def draw(small: bool) -> Panels:
    """The panels; in small mode 20 bins and one noise."""
    bins = 20 if small else 100
    panels = [
        panel(bands, bins, noise) for bands in (1, 4) for noise in ([2.0] if small else [2.0, 5.0])
    ]
    title = "Bound on the largest posterior probability of a bin, by division of the bad event"
    return Panels("sampling_free_figure_4", title, panels, columns=2)


def panel(bands: int, bins: int, noise: float) -> Drawing:
    """All four divisions for one strategy and noise."""
    steps = EPOCHS * bins
    levels = strategies.bsr(steps, bands).summed_columns(spacing=bins) / noise
    began = time.perf_counter()
    tails = posterior_tails(levels, present=True, quantile=QUANTILE)
    union = step_shares(tails, steps, BAD_EVENT / steps)
    epoch = step_shares(tails, steps, BAD_EVENT / EPOCHS).reshape(EPOCHS, bins).min(axis=1)
    hybrid = np.concatenate((union[:bins], np.repeat(epoch[1:], bins)))
    whole = np.full(steps, step_shares(tails, steps, BAD_EVENT).min())
    seconds = time.perf_counter() - began
    name = f"BSR({bands})" if bands > 1 else "DP-SGD"
    curves = [
        posterior_curve(OURS, library_shares(ConditionalBound(lambda: levels)), bins, seconds / 3),
        posterior_curve(PER_EPOCH, hybrid, bins, seconds / 3),
        posterior_curve(UNION, union, bins, seconds / 3),
        posterior_curve(MAX, whole, bins, seconds / 3),
    ]
    return posterior_drawing(name, bins, noise, curves, BAD_EVENT)


def posterior_drawing(
    name: str, bins: int, noise: float, curves: list[Curve], bad_event: float
) -> Drawing:
    """A diagram of bounds on the posterior over the steps."""
    return Drawing(
        name=f"{name}, {noise:g}",
        title=f"{name}, b = {bins}, k = {EPOCHS}, σ = {noise:g}",
        x_label="step",
        y_label="bound on the posterior",
        setting={"bins": bins, "noise_multiplier": noise, "bad_event": bad_event},
        curves=curves,
        log_x=False,
        marked=False,
    )


def library_shares(bound: ConditionalBound, bad_event: float = BAD_EVENT) -> FloatArray:
    """The library's thresholds in each step, remove direction."""
    found = bound.thresholds("remove", bad_event)
    lengths = [segment.last - segment.first for segment in bound.segments]
    return np.repeat(found, lengths)


def posterior_curve(label: str, shares: FloatArray, bins: int, seconds: float) -> Curve:
    """X > y (bins - 1) means a posterior probability of at most 1/(1 + y (bins - 1)).

    Some steps of each epoch are shown, with its first and its last.
    """
    y = 1 / (1 + shares * (bins - 1))
    step = np.arange(y.size) % bins
    kept = np.flatnonzero((step % -(-bins // SHOWN) == 0) | (step == bins - 1))
    values = [float(f"{value:.5g}") for value in y[kept]]
    return Curve(label, [float(n + 1) for n in kept], values, round(seconds, 2))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
