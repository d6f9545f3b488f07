"""What the sampling-free paper's allocation of the failure probability claims, and what happens.

Appendix E, the "max bound": see unsound_allocation.py. On the left the simulated probability that
the odds of some bin pass the thresholds in the last of three epochs, against the claimed 0.02. On
the right the epsilon that the unsound thresholds yield for DP-SGD, against ours with the same split
of delta, and the exact one. Conditional composition is loose enough for DP-SGD that even the
unsound number is above the exact one; nothing but luck says that it would be elsewhere.

Usage: python reproductions/sampling_free_unsound.py [--small] [--output DIR]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import hockeystick as hs
from curves import Drawing, Panels, curve, run
from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.report.figure import INK, PALETTE, log_axes
from unsound_allocation import (
    probability_of_bad_event,
    summed,
    unsound_as_printed,
    unsound_charged_once,
    unsound_epsilon,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPOCHS, CLAIMED, DELTA = 3, 0.02, 1e-5
OURS = "tails of all steps summed (ours)"
CHARGED_ONCE = "UNSOUND: worst step, charged once"
AS_PRINTED = "UNSOUND: as printed, 1/(b − 1) of it per bound"
RULES = {OURS: summed, CHARGED_ONCE: unsound_charged_once, AS_PRINTED: unsound_as_printed}


@dataclass(frozen=True)
class BadEvents:
    """Simulated probabilities by setting and rule, as a diagram beside others."""

    claimed: float
    draws: int
    settings: list[str]
    simulated: dict[str, list[float]]

    def error(self, probability: float) -> float:
        """Two standard errors of a simulated probability."""
        return 2 * math.sqrt(probability * (1 - probability) / self.draws)

    def print(self) -> None:
        """A row for each setting."""
        print(f"Simulated probability of the bad event, claimed {self.claimed:g}")
        print("\n".join(f"  ({i}) {rule}" for i, rule in enumerate(self.simulated, start=1)))
        for i, setting in enumerate(self.settings):
            cells = [
                f"{values[i]:9.4f} ± {self.error(values[i]):.4f}"
                for values in self.simulated.values()
            ]
            print(f"{setting:<24}" + "".join(cells))

    def content(self) -> dict[str, Any]:
        """What is written as JSON."""
        return asdict(self)

    def draw(self, axes: Axes) -> None:
        """Points with error bars, side by side for each setting."""
        for i, (rule, values) in enumerate(self.simulated.items()):
            shown = [(x + 0.2 * (i - 1), y) for x, y in enumerate(values) if y > 0]
            x, y = zip(*shown, strict=True)
            errors = [self.error(value) for value in y]
            axes.errorbar(
                x,
                y,
                errors,
                label=rule,
                color=PALETTE[(2, 1, 4)[i]],
                fmt="osD"[i],
                markersize=5,
                capsize=3,
            )
        axes.axhline(
            self.claimed,
            color=INK,
            linewidth=1.2,
            linestyle="--",
            label=f"claimed: {self.claimed:g}",
        )
        log_axes(axes)
        axes.set_xscale("linear")
        axes.set_ylim(top=1.0)
        names = [name.replace(", ", "\n") for name in self.settings]
        axes.set_xticks(range(len(names)), names, fontsize=8)
        axes.set_xlim(-0.5, len(self.settings) - 0.5)
        axes.set_title("Bad event in the last of three epochs", loc="left", fontsize=10, color=INK)
        axes.set_ylabel("simulated probability", color=INK)


def bad_events(small: bool) -> BadEvents:
    """The errata page's settings, and two with correlated noise."""
    bsr, bisr = hs.strategies.bsr, hs.strategies.bisr
    cases = [
        ("DP-SGD, b = 20, σ = 1", bsr, 1, 20, 1.0),
        ("DP-SGD, b = 20, σ = 2", bsr, 1, 20, 2.0),
        ("DP-SGD, b = 100, σ = 5", bsr, 1, 100, 5.0),
        ("BSR(4), b = 100, σ = 20", bsr, 4, 100, 20.0),
        ("BISR(2), b = 20, σ = 20", bisr, 2, 20, 20.0),
    ]
    draws = 20_000
    if small:
        cases, draws = [cases[1], cases[4]], 4_000
    simulated: dict[str, list[float]] = {rule: [] for rule in RULES}
    for _, strategy, bands, bins, noise in cases:
        levels = strategy(EPOCHS * bins, bands).summed_columns(spacing=bins) / noise
        found = probability_of_bad_event(levels, RULES, failure=CLAIMED, draws=draws, quantile=3.0)
        for rule, probability in found.items():
            simulated[rule].append(probability)
    return BadEvents(CLAIMED, draws, [case[0] for case in cases], simulated)


def epsilons(bins: int, noises: Sequence[float]) -> Drawing:
    """epsilon(1e-5) of DP-SGD against the noise, three times."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=EPOCHS * bins)
    levels = plan.strategy.summed_columns(spacing=bins)

    def sound(noise: float) -> float:
        bound = ConditionalBound(lambda scaled=levels / noise: scaled)
        both = (bound.epsilon_at(DELTA / 2, DELTA, d, 0.01) for d in ("remove", "add"))
        return max(both)

    def exact(noise: float) -> float:
        return hs.account(plan, noise_multiplier=noise).epsilon(DELTA)

    return Drawing(
        name=f"DP-SGD, {bins} bins",
        title=f"DP-SGD, b = {bins}, k = {EPOCHS}, δ = {DELTA:g}",
        x_label="noise multiplier",
        y_label="ε",
        setting={"bins": bins, "epochs": EPOCHS, "delta": DELTA, "bad_event": DELTA / 2},
        curves=[
            curve("conditional, " + OURS, noises, sound),
            curve(
                "UNSOUND: charged once", noises, lambda s: unsound_epsilon(levels / s, delta=DELTA)
            ),
            curve("profile", noises, exact),
        ],
    )


def draw(small: bool) -> Panels:
    """The panels; in small mode two bad events and two epsilons."""
    if small:
        panels = [bad_events(small), epsilons(20, [2.0, 4.0])]
    else:
        noises = {100: [2.0, 3.0, 4.0, 5.0, 7.0, 10.0], 20: [1.0, 1.5, 2.0, 3.0, 5.0, 8.0]}
        panels = [bad_events(small), *(epsilons(bins, s) for bins, s in noises.items())]
    title = "The paper's allocation of the failure probability is unsound"
    return Panels("sampling_free_unsound", title, panels, columns=len(panels), legends=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
