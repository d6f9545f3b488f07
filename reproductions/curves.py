"""What the figures share: curves that are computed point by point, printed, written and drawn.

A `Drawing` is one diagram, `Panels` are several in one picture.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import hockeystick as hs
from hockeystick.report.figure import INK, PALETTE, curve_style, log_axes, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curve", "Drawing", "Panels", "curve", "delta_of", "epsilon_of", "run", "write_picture"]

MARKERS = "os^vDxP*+1"
# Columns of a printed table; of longer curves a selection of points is printed.
MOST_COLUMNS = 14
LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": 8,
    "labelcolor": INK,
    "handlelength": 3.2,
}
ESTIMATE: dict[str, Any] = {
    "color": PALETTE[2],
    "linestyle": "",
    "marker": "o",
    "markerfacecolor": "white",
    "markersize": 5,
    "capsize": 3,
    "zorder": 6,
}


@dataclass(frozen=True)
class Curve:
    """One line of a figure: an infinite value means that there is no bound.

    An estimate has an `error` for each point, and is drawn as points instead of a line.
    """

    label: str
    x: list[float]
    y: list[float]
    seconds: float
    error: list[float] | None = None


@dataclass(frozen=True)
class Drawing:
    """A figure of a paper, computed anew. `setting` holds its parameters.

    `log_x`, `log_y`, `marked` and `vertical` (where a thin line is drawn) are about looks only and
    not written with the numbers.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    setting: dict[str, float]
    curves: list[Curve]
    log_x: bool = True
    log_y: bool = True
    marked: bool = True
    vertical: float | None = None

    def print(self) -> None:
        """A table with a column for each x, or for some of them."""
        x = sorted({value for line in self.curves for value in line.x})
        if len(x) > MOST_COLUMNS:
            x = x[:: -(-len(x) // MOST_COLUMNS)]
        width = max(len(line.label) for line in self.curves) + 2
        print(self.title)
        print(f"{self.x_label:<{width}}" + "".join(f"{value:>11.4g}" for value in x) + "    time")
        for line in self.curves:
            known = dict(zip(line.x, line.y, strict=True))
            cells = "".join(f"{known[v]:>11.4g}" if v in known else " " * 11 for v in x)
            print(f"{line.label:<{width}}{cells}{line.seconds:>7.1f}s")

    def write(self, directory: Path) -> None:
        """The numbers as JSON and the picture as PNG."""
        write_picture(directory, self.name, self.content(), self._figure)

    def _figure(self) -> Figure:
        figure = new_figure(width=7.6, height=5.2)
        axes = figure.subplots()
        self.draw(axes)
        axes.legend(**LEGEND)
        return figure

    def content(self) -> dict[str, Any]:
        """What is written as JSON; None where there is no bound."""
        content = asdict(self)
        for looks in ("log_x", "log_y", "marked", "vertical"):
            del content[looks]
        for line in content["curves"]:
            line["y"] = [value if math.isfinite(value) else None for value in line["y"]]
            if line["error"] is None:
                del line["error"]
        return content

    def draw(self, axes: Axes) -> None:
        """The diagram, into empty axes, without a legend."""
        least = 0.0 if self.log_y else -math.inf
        for i, line in enumerate(self.curves):
            points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if least < y < math.inf]
            if line.error is not None:
                axes.errorbar(line.x, line.y, line.error, label=line.label, **ESTIMATE)
            elif points:
                style = _style(i, line.label, marked=self.marked)
                axes.plot(*zip(*points, strict=True), label=line.label, **style)
        log_axes(axes)
        if not self.log_x:
            axes.set_xscale("linear")
        if not self.log_y:
            axes.set_yscale("linear")
        if self.vertical is not None:
            axes.axvline(self.vertical, color=INK, linewidth=0.8, linestyle=":", zorder=1)
        axes.set_title(self.title, loc="left", fontsize=10, color=INK)
        axes.set_xlabel(self.x_label, color=INK)
        axes.set_ylabel(self.y_label, color=INK)


@dataclass(frozen=True)
class Panels:
    """Several drawings in one picture, in rows of `columns`, with a legend below them.

    It is that of the first drawing; with `legends` every drawing has its own. `cpu_seconds` are
    those of processors, by what they were spent on.
    """

    name: str
    title: str
    drawings: Sequence[Diagram]
    columns: int
    legends: bool = False
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)

    def print(self) -> None:
        """One table after the other."""
        print(self.title)
        for drawing in self.drawings:
            print()
            drawing.print()
        if self.cpu_seconds:
            parts = ", ".join(f"{name} {spent:.0f} s" for name, spent in self.cpu_seconds.items())
            print(f"\nProcessor time {sum(self.cpu_seconds.values()) / 60:.1f} min: {parts}")

    def write(self, directory: Path) -> None:
        """The numbers as JSON and the picture as PNG."""
        content = {
            "name": self.name,
            "title": self.title,
            **({"cpu_seconds": dict(self.cpu_seconds)} if self.cpu_seconds else {}),
            "panels": [drawing.content() for drawing in self.drawings],
        }
        write_picture(directory, self.name, content, self._figure)

    def _figure(self) -> Figure:
        rows = -(-len(self.drawings) // self.columns)
        figure = new_figure(width=4.4 * self.columns, height=3.7 * rows + 0.3)
        figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, color=INK)
        grid = figure.subplots(rows, self.columns, squeeze=False)
        for axes in grid.flat[len(self.drawings) :]:
            axes.set_visible(False)
        for axes, drawing in zip(grid.flat, self.drawings, strict=False):
            drawing.draw(axes)
            if self.legends:
                axes.legend(**LEGEND, loc="upper left", bbox_to_anchor=(0.0, -0.22))
        if not self.legends:
            handles, labels = grid.flat[0].get_legend_handles_labels()
            figure.legend(handles, labels, **LEGEND, loc="outside lower left", ncols=self.columns)
        return figure


class Diagram(Protocol):
    """What `Panels` are made of: drawings, or something else that can be drawn beside them."""

    def print(self) -> None:
        """The numbers, as a table."""

    def content(self) -> dict[str, Any]:
        """The numbers, for JSON."""

    def draw(self, axes: Axes) -> None:
        """The diagram, into empty axes."""


class Picture(Protocol):
    """What a script makes."""

    def print(self) -> None:
        """The numbers, as a table."""

    def write(self, directory: Path) -> None:
        """Picture and numbers, as files."""


def write_picture(
    directory: Path, name: str, content: dict[str, Any], figure: Callable[[], Figure]
) -> None:
    """The numbers as JSON; the figure as PNG, if Matplotlib is there to draw it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    if importlib.util.find_spec("matplotlib") is None:
        print(f"{name}.png was not drawn: it needs Matplotlib (pip install 'hockeystick[plot]').")
        return
    save_figure(figure(), directory / f"{name}.png")


def _style(i: int, label: str, *, marked: bool) -> dict[str, Any]:
    """Colours repeat, markers do not; the library's own answer is a thick line on top."""
    if label == "profile":
        return {"color": INK, "linewidth": 2.6, "zorder": 5}
    colour, dashes = curve_style(i)
    marker = MARKERS[i % len(MARKERS)] if marked else ""
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
    draw: Callable[[bool], Picture], description: str, arguments: Sequence[str] | None = None
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
