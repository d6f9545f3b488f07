"""Figures: content, files and formats."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.report.figure import PALETTE, check_figure_file, new_figure, save_figure
from hockeystick.report.noise_figure import Mark, NoiseCurve, comparison_figure, noise_figure

CURVES = [
    NoiseCurve("first", "proven", (1.0, 2.0, 4.0), (9.0, 3.0, 1.0)),
    NoiseCurve("second", "conjectured", (1.0, 2.0, 4.0), (7.0, 2.0, math.nan)),
]


def positions(line: Line2D) -> list[float]:
    """Where the points of a line are along the horizontal axis."""
    return [float(x) for x in np.asarray(line.get_xdata())]


def test_a_noise_figure_is_labelled() -> None:
    """Logarithmic axes with names, a legend with kinds, and the dot with its text."""
    figure = noise_figure(CURVES, mark=Mark(2.0, 3.0, "here"), title="the run")
    [axes] = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "noise multiplier"
    assert axes.get_ylabel().startswith("ε")
    assert axes.get_title(loc="left") == "the run"
    legend = axes.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["first (proven)", "second (conjectured)"]
    assert [text.get_text() for text in axes.texts] == ["here"]
    first, second, dot = axes.get_lines()
    assert (first.get_color(), second.get_color()) == PALETTE[:2]
    assert first.get_linestyle() != second.get_linestyle()
    assert dot.get_xydata() == pytest.approx(np.array([[2.0, 3.0]]), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, math.inf])
def test_a_mark_that_no_logarithmic_axis_can_show_is_left_out(epsilon: float) -> None:
    """The curves are drawn all the same."""
    figure = noise_figure(CURVES, mark=Mark(2.0, epsilon, "here"), title="")
    assert len(figure.axes[0].get_lines()) == len(CURVES)


def test_a_comparison_shows_noise_plain_and_relative() -> None:
    """The right panel divides the noise of each scheme by its own batch size."""
    figure = comparison_figure(
        CURVES,
        scales=[1 / 10, 1 / 100],
        batch_sizes=[10.0, 100.0],
        noise=[2.5, 2.0],
        target=2.0,
        title="t",
    )
    left, right = figure.axes
    for i, size in enumerate((10.0, 100.0)):
        plain, relative = (positions(axes.get_lines()[i]) for axes in (left, right))
        assert plain == pytest.approx([1.0, 2.0, 4.0], rel=1e-12)
        assert relative == pytest.approx([noise / size for noise in plain], rel=1e-12)
    dots = [positions(line)[0] for line in right.get_lines()[-2:]]
    assert dots == pytest.approx([0.25, 0.02], rel=1e-12)
    assert len(figure.legends[0].get_texts()) == 2


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("SVG", b"<?xml"), ("pdf", b"%PDF")]
)
def test_figures_are_saved_in_the_format_of_their_name(
    tmp_path: Path, suffix: str, start: bytes
) -> None:
    """One complete file and nothing beside it."""
    path = tmp_path / f"figure.{suffix}"
    save_figure(new_figure(width=2.0, height=1.0), check_figure_file("plot", path))
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_while_saving_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a figure is none."""
    figure = new_figure(width=2.0, height=1.0)

    def fails(file: object, **options: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(figure, "savefig", fails)
    with pytest.raises(RuntimeError):
        save_figure(figure, tmp_path / "figure.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["figure", "figure.gif", "figure.png.txt", ".png", "no/figure.png"]
)
def test_impossible_files_are_refused_early(tmp_path: Path, name: str) -> None:
    """Unknown formats and missing directories, before anything is drawn."""
    with pytest.raises(InvalidParameter, match="plot must be"):
        check_figure_file("plot", tmp_path / name)


def test_a_missing_matplotlib_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which extra to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"hockeystick\[plot\]"):
        check_figure_file("plot", tmp_path / "figure.png")


def test_figures_do_not_touch_pyplot() -> None:
    """No global state and no window system: a notebook's own figures are left alone."""
    code = (
        "import sys; from hockeystick.report.figure import new_figure; "
        "new_figure(width=1, height=1); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
