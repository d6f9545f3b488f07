"""What the figures share: curves that are computed point by point, printed, written and drawn."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hockeystick as hs
from hockeystick.report.figure import INK, curve_style, log_axes, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Curve", "Drawing", "curve", "delta_of", "epsilon_of", "run"]

MARKERS = "os^vDxP*+1"


@dataclass(frozen=True)
class Curve:
    """One line of a figure: an infinite value means that there is no bound."""

    label: str
    x: list[float]
    y: list[float]
    seconds: float


@dataclass(frozen=True)
class Drawing:
    """A figure of a paper, computed anew. `setting` holds its parameters."""

    name: str
    title: str
    x_label: str
    y_label: str
    setting: dict[str, float]
    curves: list[Curve]

    def print(self) -> None:
        """A table with a column for each x."""
        x = self.curves[0].x
        width = max(len(line.label) for line in self.curves) + 2
        print(self.title)
        print(f"{self.x_label:<{width}}" + "".join(f"{value:>11.4g}" for value in x) + "    time")
        for line in self.curves:
            cells = "".join(f"{value:>11.4g}" for value in line.y)
            print(f"{line.label:<{width}}{cells}{line.seconds:>7.1f}s")

    def write(self, directory: Path) -> None:
        """The numbers as JSON and the picture as PNG."""
        directory.mkdir(parents=True, exist_ok=True)
        content = asdict(self)
        for line in content["curves"]:
            line["y"] = [value if math.isfinite(value) else None for value in line["y"]]
        (directory / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n")
        save_figure(self._figure(), directory / f"{self.name}.png")

    def _figure(self) -> Figure:
        figure = new_figure(width=7.6, height=5.2)
        axes = figure.subplots()
        for i, line in enumerate(self.curves):
            points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if 0 < y < math.inf]
            if points:
                axes.plot(*zip(*points, strict=True), label=line.label, **_style(i, line.label))
        log_axes(axes)
        axes.set_title(self.title, loc="left", fontsize=10, color=INK)
        axes.set_xlabel(self.x_label, color=INK)
        axes.set_ylabel(self.y_label, color=INK)
        axes.legend(frameon=False, fontsize=8, labelcolor=INK, handlelength=3.2)
        return figure


def _style(i: int, label: str) -> dict[str, Any]:
    """Colours repeat, markers do not; the library's own answer is a thick line on top."""
    if label == "profile":
        return {"color": INK, "linewidth": 2.6, "zorder": 5}
    colour, dashes = curve_style(i)
    marker = MARKERS[i % len(MARKERS)]
    return {
        "color": colour,
        "linestyle": dashes,
        "linewidth": 1.4,
        "marker": marker,
        "markersize": 4.5,
    }


def epsilon_of(
    method: str, plan: Callable[[int], hs.Plan], *, noise: float, delta: float
) -> Callable[[float], float]:
    """What a method says about epsilon, as a function of what the plan depends on."""

    def value(x: float) -> float:
        return hs.account(plan(int(x)), noise_multiplier=noise, method=method).epsilon(delta)

    return value


def delta_of(
    method: str, plan: Callable[[int], hs.Plan], *, noise: float, epsilon: float
) -> Callable[[float], float]:
    """The same for delta."""

    def value(x: float) -> float:
        return hs.account(plan(int(x)), noise_multiplier=noise, method=method).delta(epsilon)

    return value


def curve(label: str, x: Sequence[float], value: Callable[[float], float]) -> Curve:
    """The curve of a function, and how long it took."""
    start = time.perf_counter()
    y = [float(value(point)) for point in x]
    return Curve(label, [float(point) for point in x], y, round(time.perf_counter() - start, 3))


def run(
    draw: Callable[[bool], Drawing], description: str, arguments: Sequence[str] | None = None
) -> int:
    """The command line of a figure: --small for a quick look, --output for files."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--small", action="store_true", help="few points, small sizes")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write PNG and JSON")
    options = parser.parse_args(arguments)
    drawing = draw(options.small)
    drawing.print()
    if options.output is not None:
        drawing.write(options.output)
    return 0
