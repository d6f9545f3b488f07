"""Figure 4 of the sampling-free paper: how the failure probability may be divided among the steps.

The bound on the posterior probability of the current bin, the one with the largest level in a step,
outside a bad event of probability 0.5e-5 (remove direction, four epochs of 100 bins). Two sound
divisions: an equal part for every step and every bin above the lowest level, and the library's,
equal parts whose tails are added up over a segment of steps. The paper's three are UNSOUND, see
unsound_allocation.py: they take the bound of the worst step for all and count its probability once.

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
from hockeystick.analyses.conditional.posterior_tails import Tails, posterior_tails
from unsound_allocation import largest_share

EPOCHS, BAD_EVENT, QUANTILE = 4, 0.5e-5, 5.5
# Steps of an epoch that are drawn.
SHOWN = 25
UNION = "union over all steps"
OURS = "tails summed over segments (ours)"
EVERY_EPOCH = "UNSOUND: per-epoch max (e ≥ 1)"
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
    """All five divisions for one strategy and noise."""
    steps = EPOCHS * bins
    levels = strategies.bsr(steps, bands).summed_columns(spacing=bins) / noise
    began = time.perf_counter()
    tails = posterior_tails(levels, present=True, quantile=QUANTILE)
    count = tails.step.size / steps
    union = current_shares(tails, steps, BAD_EVENT / tails.step.size)
    each = current_shares(tails, steps, BAD_EVENT / EPOCHS / count).reshape(EPOCHS, bins)
    epoch = np.repeat(each.min(axis=1), bins)
    hybrid = np.concatenate((union[:bins], epoch[bins:]))
    whole = np.full(steps, current_shares(tails, steps, BAD_EVENT / count).min())
    seconds = time.perf_counter() - began
    name = f"BSR({bands})" if bands > 1 else "DP-SGD"
    curves = [
        posterior_curve(OURS, library_shares(ConditionalBound(lambda: levels)), bins, seconds / 4),
        posterior_curve(PER_EPOCH, hybrid, bins, seconds / 4),
        posterior_curve(EVERY_EPOCH, epoch, bins, seconds / 4),
        posterior_curve(UNION, union, bins, seconds / 4),
        posterior_curve(MAX, whole, bins, seconds / 4),
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


def current_shares(tails: Tails, steps: int, failure: float) -> FloatArray:
    """For each step the y of the bin with the largest level, whose tail is at most `failure`."""
    found = np.ones(steps)
    for n in range(steps):
        one = tails.between(n, n + 1)
        if one.step.size:
            top = int(one.below.argmax())
            fields = (field[top : top + 1] for field in one[:-1])
            found[n] = largest_share(Tails(*fields, own_weight=one.own_weight), failure)
    return found


def library_shares(bound: ConditionalBound, bad_event: float = BAD_EVENT) -> FloatArray:
    """The library's threshold of the bin with the largest level, in each step; remove direction."""
    found = bound.thresholds("remove", bad_event)
    lengths = [segment.last - segment.first for segment in bound.segments]
    below = (bound.levels < bound.levels.max(axis=1, keepdims=True)).sum(axis=1)
    shares: FloatArray = np.repeat(found, lengths, axis=0)[np.arange(below.size), below]
    return shares


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
