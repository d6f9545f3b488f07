"""One realistic run under every scheme: `python -m hockeystick.report.demo [--output demo.png]`."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from hockeystick.accounting.calibrate import Calibration, calibrate
from hockeystick.errors import HockeystickError
from hockeystick.guarantee import Answer
from hockeystick.plan import Plan
from hockeystick.report import Update, count_text, progress, upper_text
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.noise_figure import comparison_figure, noise_around, noise_curve
from hockeystick.schemes import CyclicPoisson, FullBatch, Poisson, RandomAllocation, Sampling
from hockeystick.strategies import band_mf, identity

__all__ = ["Calibrated", "DemoRun", "demo", "main", "verdict"]


@dataclass(frozen=True)
class DemoRun:
    """The run to be made private; the defaults are a small but realistic training run."""

    examples: int = 50_000
    batch_size: int = 500
    steps: int = 2_000
    epsilon: float = 2.0
    delta: float = 1e-5
    bands: int = 8

    def __str__(self) -> str:
        return (
            f"{count_text(self.examples)} examples, batches of {count_text(self.batch_size)}, "
            f"{count_text(self.steps)} steps"
        )

    def plans(self) -> list[Plan]:
        """Four schemes with the run's batch size; a full batch has its own.

        Cyclic Poisson has as many groups as the noise has bands, for which it is made.
        """
        size, examples = self.batch_size, self.examples
        cyclic = CyclicPoisson.for_batch_size(size, examples=examples, groups=self.bands)
        independent: list[Sampling] = [
            FullBatch(),
            Poisson.for_batch_size(size, examples=examples),
            RandomAllocation.for_batch_size(size, examples=examples),
        ]
        return [
            *(Plan(sampling=one, steps=self.steps) for one in independent),
            Plan(sampling=cyclic, steps=self.steps, strategy=band_mf(self.steps, self.bands)),
        ]


@dataclass(frozen=True)
class Calibrated:
    """A plan with the noise it needs, and what it took to find out."""

    plan: Plan
    calibration: Calibration
    answer: Answer
    batch_size: float
    seconds: float

    @property
    def label(self) -> str:
        """The scheme, and the strategy if the noise is correlated."""
        strategy = f", {self.plan.strategy.name}" if self.plan.correlated else ""
        return f"{self.plan.sampling.name}{strategy}"

    @property
    def scale(self) -> float:
        """By how much less independent noise has the same error in the iterates, per example."""
        independent = identity(self.plan.steps).mean_squared_error()
        ratio = self.plan.strategy.mean_squared_error() / independent
        return math.sqrt(ratio) / self.batch_size

    @property
    def error(self) -> float:
        """The mean squared error of the averaged gradients' noise in the iterates, relatively."""
        return (self.calibration.noise_multiplier * self.scale) ** 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the demonstration; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hockeystick.report.demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo.png"), help="file of the plot")
    output = parser.parse_args(arguments).output
    try:
        demo(DemoRun(), output=output)
    except HockeystickError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def demo(run: DemoRun, *, output: Path) -> list[Calibrated]:
    """Calibrate every scheme to the run's target, print the table and write the plot."""
    check_figure_file("output", output)
    with progress("Calibrating ...") as update:
        found = [_calibrated(run, plan, update) for plan in run.plans()]
        _write_plot(run, found, output, update)
    console = Console(highlight=False)
    console.print(f"{run}, epsilon {run.epsilon:g}, delta {run.delta:g}", style="bold")
    console.print(_table(found))
    console.print(
        "error: the mean square of the noise in the iterates of SGD, for gradients that are "
        "averaged over the batch, relative to plain DP-SGD (poisson). Noise multipliers of "
        "different strategies and batch sizes are not comparable. Kind: "
        f"{', '.join(dict.fromkeys(row.answer.kind for row in found))}."
    )
    console.print(verdict(found), style="bold", soft_wrap=True)
    console.print(f"Plot written to {output.resolve()}", soft_wrap=True, markup=False)
    return found


def _calibrated(run: DemoRun, plan: Plan, update: Update) -> Calibrated:
    update(f"Calibrating {plan.sampling.name} ...")
    start = time.perf_counter()
    calibration = calibrate(plan, epsilon=run.epsilon, delta=run.delta)
    seconds = time.perf_counter() - start
    answer = calibration.guarantee.answer(delta=run.delta)
    size = plan.sampling.expected_batch_size(run.examples)
    return Calibrated(plan, calibration, answer, size, seconds)


def verdict(found: Sequence[Calibrated]) -> str:
    """Which one to use, in one line."""
    everything, plain, *others = found
    best = min((plain, *others), key=lambda row: row.error)
    text = f"verdict: {best.label} has "
    if best is plain:
        text += "the least error at this batch size"
    else:
        text += f"{math.floor(100 * (1 - best.error / plain.error))} % less error than DP-SGD"
    work = everything.batch_size / plain.batch_size
    return (
        f"{text}; the full batch has {100 * (1 - everything.error / plain.error):.0f} % less, "
        f"with {work:g} times the work."
    )


def _write_plot(run: DemoRun, found: Sequence[Calibrated], output: Path, update: Update) -> None:
    curves = []
    for row in found:
        update(f"Drawing {row.plan.sampling.name} ...")
        curves.append(
            noise_curve(
                row.plan,
                label=row.label,
                kind=row.answer.kind,
                noise=noise_around(row.calibration.noise_multiplier),
                delta=run.delta,
            )
        )
    figure = comparison_figure(
        curves,
        scales=[row.scale for row in found],
        batch_sizes=[row.batch_size for row in found],
        noise=[row.calibration.noise_multiplier for row in found],
        target=run.epsilon,
        title=f"{run}, δ = {run.delta:g}",
    )
    save_figure(figure, output)


def _table(found: Sequence[Calibrated]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for title in ("scheme", "noise", "noise\nmultiplier", "batch", "error"):
        table.add_column(title, justify="left" if title in ("scheme", "noise") else "right")
    for title in ("method", "time"):
        table.add_column(title, justify="right" if title == "time" else "left")
    for row in found:
        strategy, plan = row.plan.strategy, row.plan
        table.add_row(
            plan.sampling.name,
            f"{strategy.name} ({strategy.bands})" if plan.correlated else "independent",
            upper_text(row.calibration.noise_multiplier),
            f"{row.batch_size:g}",
            f"{100 * row.error / found[1].error:.3g} %",
            row.answer.method,
            f"{row.seconds:.2f} s",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
