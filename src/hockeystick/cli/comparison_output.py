"""What `hockeystick compare` prints: the table, the recommendation, how to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from hockeystick.accounting.compare import Compared
from hockeystick.cli.output import print_json, stdout
from hockeystick.guarantee import ADJACENCY
from hockeystick.report.recommendation import Recommendation
from hockeystick.report.text import (
    COLUMNS,
    cells,
    parameters_text,
    result_row,
    scheme_of,
    strategy_text,
    upper_text,
)

__all__ = ["print_comparison", "print_comparison_json", "result_line"]

# Wider than any row.
WIDEST = 400


def result_line(one: Compared) -> str:
    """A result as it comes."""
    inside = parameters_text(one)
    setting = f"{scheme_of(one)}, {strategy_text(one)}{f' ({inside})' if inside else ''}"
    noise, error = upper_text(one.calibration.noise_multiplier), upper_text(one.mean_squared_error)
    kind = "" if one.answer.kind == "proven" else f", {one.answer.kind}"
    return f"{setting}: noise multiplier {noise}, mse {error}{kind}, {one.seconds:.1f} s"


def print_comparison_json(
    found: Sequence[Compared],
    advice: Recommendation,
    asked: dict[str, Any],
    written: Mapping[str, Path],
) -> None:
    """One object: all results, the best, and the recommendation with its code."""
    results = [result_row(one, advice.data) for one in found]
    guarantee = advice.best.calibration.guarantee
    content = {**asked, "adjacency": ADJACENCY, "unit": guarantee.unit}
    content |= {"results": results, "best": results[0], "recommendation": advice.as_object()}
    print_json(content | {name: str(path) for name, path in written.items()})


def print_comparison(
    found: Sequence[Compared], advice: Recommendation, title: str, written: Mapping[str, Path]
) -> None:
    """The table, which row to use and why, the next command and the script."""
    console = stdout()
    console.print(title, style="bold")
    _print_table(console, found, advice)
    _print_advice(console, found, advice)
    for name, path in written.items():
        console.print(f"{'report' if name == 'html' else name} written to {path}")


def _print_table(console: Console, found: Sequence[Compared], advice: Recommendation) -> None:
    """One line for each row in a pipe; on a terminal parameters are wrapped where they must."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title, number in COLUMNS:
        justify = "right" if number else "left"
        table.add_column(title, justify=justify, no_wrap=title != "parameters")  # type: ignore[arg-type]
    several = len({one.answer.kind for one in found}) > 1
    if several:
        table.add_column("kind")
    for place, one in enumerate(found):
        style = "bold green" if place == 0 else None
        kind = [one.answer.kind] if several else []
        table.add_row(*cells(one, advice.baseline), *kind, style=style)
    if not console.is_terminal:
        options = console.options.update(max_width=WIDEST)
        console.width = max(console.width, Measurement.get(console, options, table).maximum)
    console.print(table, soft_wrap=False)


def _print_advice(console: Console, found: Sequence[Compared], advice: Recommendation) -> None:
    noise = upper_text(advice.best.calibration.noise_multiplier)
    text = f"use this: {advice.setting}, noise multiplier {noise}: {advice.gain}."
    console.print(text, style="bold")
    console.print(advice.caveat)
    guarantee = advice.best.calibration.guarantee
    kinds = ", ".join(dict.fromkeys(one.answer.kind for one in found))
    console.print(
        f"Noise multipliers of different strategies are not comparable; kind: {kinds}; adjacency: "
        f"{guarantee.adjacency}; unit: {guarantee.unit}; direction: both"
    )
    console.print("\nnext:", style="bold")
    console.print(advice.command)
    console.print("\nin Python, to the end:", style="bold")
    console.print(advice.python)
