"""One realistic run under every scheme: `python -m hockeystick.report.demo [--output demo.png]`."""

from __future__ import annotations

import argparse
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
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.noise_curve import noise_around, noise_curve
from hockeystick.report.noise_figure import comparison_figure
from hockeystick.report.numbers import count_text, upper_text
from hockeystick.report.progress import Update, progress
from hockeystick.schemes import CyclicPoisson, FullBatch, Poisson, RandomAllocation, Sampling

__all__ = ["Calibrated", "DemoRun", "demo", "main"]


@dataclass(frozen=True)
class DemoRun:
    """The run to be made private; the defaults are a small but realistic training run."""

    examples: int = 50_000
    batch_size: int = 500
    steps: int = 2_000
    epsilon: float = 2.0
    delta: float = 1e-5
    groups: int = 16

    def __str__(self) -> str:
        return (
            f"{count_text(self.examples)} examples, batches of {count_text(self.batch_size)}, "
            f"{count_text(self.steps)} steps"
        )

    def schemes(self) -> list[Sampling]:
        """Four schemes with the run's batch size; a full batch has its own."""
        size, examples = self.batch_size, self.examples
        return [
            FullBatch(),
            Poisson.for_batch_size(size, examples=examples),
            CyclicPoisson.for_batch_size(size, examples=examples, groups=self.groups),
            RandomAllocation.for_batch_size(size, examples=examples),
        ]


@dataclass(frozen=True)
class Calibrated:
    """A scheme with the noise it needs, and what it took to find out."""

    plan: Plan
    calibration: Calibration
    answer: Answer
    batch_size: float
    seconds: float


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
        found = [_calibrated(run, scheme, update) for scheme in run.schemes()]
        _write_plot(run, found, output, update)
    console = Console(highlight=False)
    console.print(f"{run}, epsilon {run.epsilon:g}, delta {run.delta:g}", style="bold")
    console.print(_table(found))
    console.print(
        "Noise multipliers are comparable only between schemes with the same batch size. The full "
        f"batch adds its noise to {count_text(run.examples)} examples in each step, the others to "
        f"about {count_text(run.batch_size)}; noise / batch is comparable throughout."
    )
    console.print(f"Plot written to {output.resolve()}", soft_wrap=True, markup=False)
    return found


def _calibrated(run: DemoRun, sampling: Sampling, update: Update) -> Calibrated:
    update(f"Calibrating {sampling.name} ...")
    plan = Plan(sampling=sampling, steps=run.steps)
    start = time.perf_counter()
    calibration = calibrate(plan, epsilon=run.epsilon, delta=run.delta)
    seconds = time.perf_counter() - start
    answer = calibration.guarantee.answer(delta=run.delta)
    return Calibrated(
        plan, calibration, answer, sampling.expected_batch_size(run.examples), seconds
    )


def _write_plot(run: DemoRun, found: Sequence[Calibrated], output: Path, update: Update) -> None:
    curves = []
    for row in found:
        update(f"Drawing {row.plan.sampling.name} ...")
        curves.append(
            noise_curve(
                row.plan,
                label=row.plan.sampling.name,
                kind=row.answer.kind,
                noise=noise_around(row.calibration.noise_multiplier),
                delta=run.delta,
            )
        )
    figure = comparison_figure(
        curves,
        batch_sizes=[row.batch_size for row in found],
        noise=[row.calibration.noise_multiplier for row in found],
        target=run.epsilon,
        title=f"{run}, δ = {run.delta:g}",
    )
    save_figure(figure, output)


def _table(found: Sequence[Calibrated]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for title in ("scheme", "noise\nmultiplier", "batch", "noise /\nbatch"):
        table.add_column(title, justify="left" if title == "scheme" else "right")
    for title in ("method", "kind", "evals", "time"):
        table.add_column(title, justify="right" if title in ("evals", "time") else "left")
    for row in found:
        noise = row.calibration.noise_multiplier
        table.add_row(
            row.plan.sampling.name,
            upper_text(noise),
            f"{row.batch_size:g}",
            upper_text(noise / row.batch_size, 3),
            row.answer.method,
            row.answer.kind,
            str(row.calibration.evaluations),
            f"{row.seconds:.2f} s",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
