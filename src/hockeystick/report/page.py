"""The interactive report: one file that needs nothing else, not even a network."""

from __future__ import annotations

import importlib
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from hockeystick._files import check_target, replacing
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.report import page_text as text
from hockeystick.report.comparison_report import ComparisonReport, page_json
from hockeystick.report.text import count_text

__all__ = ["check_page_file", "page_html", "write_page"]

SUFFIXES = (".html", ".htm")
# Whatever the page contains, the browser asks nobody for anything.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)


def check_page_file(name: str, path: Path) -> Path:
    """The path, if a page can be written to it; to be called before the work starts.

    `InvalidParameter` for another suffix or a missing directory, `MissingExtra` without Plotly.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidParameter(name, f"a file that ends in {' or '.join(SUFFIXES)}", str(path))
    check_target(name, path)
    try:
        importlib.import_module("plotly")
    except ImportError:
        raise MissingExtra("The page needs Plotly", extra="report") from None
    return path


def write_page(report: ComparisonReport, path: Path) -> None:
    """Write the page atomically; some five megabytes, nearly all of them Plotly's script."""
    check_page_file("path", path)
    with replacing(path) as file:
        file.write(page_html(report).encode())


def page_html(report: ComparisonReport) -> str:
    """The whole page: text first, then the data, Plotly and the script that draws."""
    from plotly.offline import get_plotlyjs

    return Template(_part("page.html")).substitute(
        policy=POLICY,
        run=escape(_run(report)),
        style=_part("page.css"),
        recommendation=text.recommendation(report),
        family_boxes=text.family_boxes(report),
        table=text.table(report),
        scheme_options=text.scheme_options(report),
        method_boxes=text.method_boxes(report),
        seed=report.seed,
        settings=text.settings(report),
        fine_print=text.fine_print_list(report),
        data=page_json(report),
        plotly=get_plotlyjs(),
        script=_part("page.js"),
    )


def _part(name: str) -> str:
    """A file beside this one."""
    return (files("hockeystick.report") / name).read_text(encoding="utf-8")


def _run(report: ComparisonReport) -> str:
    found = report.best.calibration
    advice = report.recommendation
    users = ""
    if advice.examples_per_user is not None:
        users = f"{advice.examples_per_user} for each user, "
    optimizer = "" if advice.optimizer.is_plain else f", {advice.optimizer}"
    return (
        f"{count_text(report.examples)} examples, {users}batch size {report.batch_size:g}, "
        f"{count_text(report.best.plan.steps)} steps{optimizer}, ε = {found.epsilon:g}, "
        f"δ = {found.delta:g}"
    )
