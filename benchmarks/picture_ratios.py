"""The lowest panel: how many times as fast, and what was promised."""

from __future__ import annotations

from quantities import Speed
from verdicts import verdicts

HELD, MISSED = "#1b4fa8", "#c8323c"


def draw_ratios(axes, found: dict) -> None:
    """A bar for each promise about a peer's time; those that were not measured have none."""
    judged = [v for v in verdicts(found["cases"]) if isinstance(v.promise.quantity, Speed)]
    judged = judged[::-1]
    for place, v in enumerate(judged):
        if v.measured is None:
            axes.text(1.05, place, "not measured", va="center", fontsize=9)
            continue
        axes.barh(place, v.measured, left=0, color=HELD if v.held else MISSED, height=0.62)
        end = 1.08 * max(v.measured, v.promise.least)
        axes.text(end, place, _times(v.measured), va="center", fontsize=10)
        axes.plot([v.promise.least] * 2, [place - 0.42, place + 0.42], color="black", lw=2.2)
    labels = [f"{v.promise.case} / {v.promise.quantity.peer}" for v in judged]
    axes.set_yticks(range(len(judged)), labels)
    most = max([v.measured for v in judged if v.measured is not None], default=10.0)
    axes.set(
        xscale="log",
        xlim=(0.5, 4 * most),
        ylim=(-0.7, len(judged) - 0.3),
        title="times as fast as the peer (bar), and promised (line)",
    )
    axes.grid(alpha=0.25, axis="x")


def _times(ratio: float) -> str:
    """Three digits, without powers of ten."""
    rounded = float(f"{ratio:.3g}")
    return f"{rounded:,.0f}×" if rounded >= 100 else f"{rounded:g}×"
