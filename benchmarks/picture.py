"""The picture: time and memory against size, accuracy, and ratios against promises."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl

from cases import US
from environments import ROOT
from picture_ratios import draw_ratios
from sweeps import SWEEPS
from wording import at

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter
from PIL import Image

PICTURE = ROOT / "docs" / "images" / "bench.png"
# Colour and dashes: a colour for each library.
BLUE, BROWN, GREY = "#1b4fa8", "#8c564b", "#6b6b6b"
STYLES = {
    "hockeystick": (BLUE, "-"),
    "method renyi": (BLUE, "--"),
    "draws": (BLUE, ":"),
    "dp-accounting": ("#e07b00", "-"),
    "prv-accountant": ("#2a9d5c", "-"),
    "PLD-accounting": ("#c8323c", "-"),
    "jax-privacy": ("#8e5bb5", "-"),
    "jax-privacy draws": ("#8e5bb5", ":"),
    "random-allocation": (BROWN, "-"),
    "random-allocation decomposition": (BROWN, "--"),
    "opacus RDP": (GREY, "-"),
    "opacus PRV": (GREY, "--"),
    "opake": ("#00a3b4", "-"),
}
NAMES = {"method renyi": "hockeystick, renyi", "draws": "hockeystick, draws"}
POISSON, DELTA, BLOCK = "Poisson: steps", "Poisson: δ", "random allocation: 1 out of …"
DRAWS, ROWS = "b-min-sep: draws", "10 rows of noise: bands"
SECONDS, MEMORY, EXCESS = "seconds", "memory, MB", "above lower bound, %"
PANELS = (
    ("steps", POISSON, SECONDS),
    ("delta", DELTA, SECONDS),
    ("block", BLOCK, SECONDS),
    ("steps", POISSON, EXCESS),
    ("delta", DELTA, EXCESS),
    ("block", BLOCK, EXCESS),
    ("bins", "balls-in-bins, 4 bands: bins", SECONDS),
    ("bands", "best strategy: bands", SECONDS),
    ("noise-bands", ROWS, SECONDS),
    ("draws", DRAWS, SECONDS),
    ("draws", DRAWS, MEMORY),
    ("noise-bands", ROWS, MEMORY),
)
LOOK = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(found: dict, path: Path = PICTURE) -> None:
    """Twelve panels and the ratios."""
    with plt.rc_context(LOOK):
        figure = plt.figure(figsize=(12, 15.5), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=[4.2, 1])
        panels = upper.subplots(4, 3).flatten()
        for axes, (name, title, label) in zip(panels, PANELS, strict=True):
            _lines(axes, name, found["sweeps"].get(name, {}), QUANTITIES[label])
            axes.set(title=title, ylabel=label)
        upper.legend(handles=_handles(found), ncols=4, loc="outside upper center", frameon=False)
        draw_ratios(lower.subplots(), found)
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=100, format="png")
        plt.close(figure)
    # Few colours: a third of the size.
    Image.open(drawn).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def seconds(point: dict, _ours: dict | None) -> float | None:
    """Of a warm call."""
    return min(point["seconds"])


def megabytes(point: dict, _ours: dict | None) -> float | None:
    """Of the whole process."""
    return point["peak_mb"]


def excess(point: dict, ours: dict | None) -> float | None:
    """How far an answer is above our lower bound at the same point, in per cent."""
    if ours is None or "error" in ours or ours["lower"] is None:
        return None
    return 100 * (point["upper"] / ours["lower"] - 1)


QUANTITIES = {SECONDS: seconds, MEMORY: megabytes, EXCESS: excess}


def _lines(axes: Axes, name: str, answers: dict, quantity) -> None:
    """A line for each participant; a cross where it ends early."""
    crosses: dict[float, int] = {}
    for who, points in answers.items():
        colour, dashes = STYLES[who]
        found = [
            (p["point"], quantity(p, at(answers.get(US, []), p["point"])))
            for p in points
            if "error" not in p
        ]
        good = [(x, y) for x, y in found if y is not None and y > 0]
        if good:
            width = 2.6 if who == US else 1.6
            axes.plot(*zip(*good, strict=True), dashes, color=colour, lw=width, marker="o", ms=4)
        for x in (p["point"] for p in points if "error" in p):
            place = crosses[x] = crosses.get(x, -1) + 1
            _cross(axes, x, 0.96 - 0.11 * place, colour)
    axes.set(xscale="log", yscale="log", xlim=_room(SWEEPS[name].points))
    low, high = axes.get_ylim()
    if crosses:  # Room above the lines.
        axes.set_ylim(low, high * (high / low) ** (0.12 + 0.12 * max(crosses.values())))
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)


def _cross(axes: Axes, x: float, height: float, colour: str) -> None:
    """A failure, at a height that is a share of the panel's."""
    place = axes.get_xaxis_transform()
    axes.plot(x, height, "x", color=colour, transform=place, ms=9, mew=2.5)


def _room(points: tuple[float, ...]) -> tuple[float, float]:
    """The points from easy to hard, left to right, with a margin."""
    margin = (points[-1] / points[0]) ** 0.06
    return points[0] / margin, points[-1] * margin


def _handles(found: dict) -> list[Line2D]:
    """All participants of the sweeps, and the cross."""
    present = {who for answers in found["sweeps"].values() for who in answers}
    handles = [
        Line2D(
            [], [], color=colour, ls=dashes, lw=2.6 if who == US else 1.6,
            marker="o", ms=4, label=NAMES.get(who, who),
        )
        for who, (colour, dashes) in STYLES.items()
        if who in present
    ]  # fmt: skip
    cross = Line2D([], [], color="black", ls="", marker="x", ms=9, mew=2.5)
    cross.set_label("failed, or over a minute")
    return [*handles, cross]
