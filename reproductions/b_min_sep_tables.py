"""What the tables of the b-min-sep paper share: entries beside the printed ones, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from b_min_sep_search import Choice
from curves import LEGEND, Curve, Drawing, write_picture
from hockeystick.report.figure import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Entry", "Table"]


@dataclass(frozen=True)
class Entry:
    """One number of the table, as printed (None if it is not in the paper) and as computed."""

    row: str
    epsilon: float
    printed: float | None
    choice: Choice
    delta: float | None = None

    @property
    def difference(self) -> float | None:
        """Relative to the printed number."""
        return None if self.printed is None else self.choice.mse / self.printed - 1

    def content(self) -> dict[str, Any]:
        """For JSON, without what does not apply."""
        found = asdict(self.choice)
        named = {"row": self.row, "delta": self.delta, "epsilon": self.epsilon}
        named |= {"printed": self.printed, **found}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Table:
    """A table of mean squared errors; the picture shows them relative to the row `baseline`.

    It has a diagram for each delta that entries name.
    """

    name: str
    title: str
    setting: dict[str, float]
    entries: Sequence[Entry]
    baseline: str

    def print(self) -> None:
        """One line for each entry."""
        width = max(len(entry.row) for entry in self.entries) + 2
        print(self.title)
        head = f"{'delta':>8}{'epsilon':>8}{'printed':>11}{'computed':>11}{'difference':>12}"
        print(f"{'row':<{width}}{head}{'strategy':>10}{'bands':>6}{'time':>9}")
        for entry in self.entries:
            one = entry.choice
            delta = "" if entry.delta is None else f"{entry.delta:g}"
            printed = "" if entry.printed is None else f"{entry.printed:.2f}"
            apart = "" if entry.difference is None else f"{entry.difference:+.2%}"
            print(
                f"{entry.row:<{width}}{delta:>8}{entry.epsilon:>8g}{printed:>11}{one.mse:>11.2f}{apart:>12}"
                f"{one.strategy:>10}{one.bands:>6}{one.seconds:>8.1f}s"
            )

    def write(self, directory: Path) -> None:
        """The numbers as JSON and the picture as PNG."""
        content = {
            "name": self.name,
            "title": self.title,
            "setting": self.setting,
            "entries": [entry.content() for entry in self.entries],
        }
        write_picture(directory, self.name, content, self._figure)

    def _figure(self) -> Figure:
        deltas = sorted({entry.delta or 0.0 for entry in self.entries}, reverse=True)
        figure = new_figure(width=7.6 * len(deltas), height=5.2)
        for axes, delta in zip(
            figure.subplots(1, len(deltas), squeeze=False).flat, deltas, strict=True
        ):
            self._drawing(delta).draw(axes)
            axes.legend(**LEGEND)
        return figure

    def _drawing(self, delta: float) -> Drawing:
        rows: dict[str, dict[float, Choice]] = {}
        for entry in self.entries:
            if (entry.delta or 0.0) == delta:
                rows.setdefault(entry.row, {})[entry.epsilon] = entry.choice
        unit = rows[self.baseline]
        curves = [
            Curve(
                row,
                list(known),
                [choice.mse / unit[epsilon].mse for epsilon, choice in known.items()],
                sum(choice.seconds for choice in known.values()),
            )
            for row, known in rows.items()
        ]
        y_label = f"MSE / MSE of {self.baseline}"
        title = f"{self.title}, δ = {delta:g}" if delta else self.title
        return Drawing(self.name, title, "ε", y_label, self.setting, curves)
