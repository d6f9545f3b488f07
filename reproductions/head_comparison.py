"""Linear heads by several mechanisms: tuned, compared, drawn and stated.

Learning rates are chosen on held-out data, for every mechanism at every epsilon alike; the choice
is not accounted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from accuracy_table import Accuracies, Differences, Entry
from curves import Curve, Drawing, Panels
from head_mechanisms import MECHANISMS, Mechanism, Size, Target, poisson, price
from hockeystick.report import progress
from linear_heads import Heads, Priced, compact

__all__ = ["Comparison", "Experiment", "compare", "experiment", "panels", "run_on_data"]

# Learning rates are chosen with other seeds than accuracies are found.
FIRST_TUNING_SEED, FIRST_SEED = 1_000, 0
# Without noise accuracies differ little.
PLAIN_SEEDS = 3


@dataclass(frozen=True)
class Experiment:
    """A picture with its numbers, and the statements of the runs behind them."""

    panels: Panels
    statements: Sequence[Mapping[str, Any]]

    def print(self) -> None:
        """The tables."""
        self.panels.print()

    def write(self, directory: Path) -> None:
        """Picture and numbers, and beside them the statements."""
        self.panels.write(directory)
        path = directory / f"{self.panels.name}_statements.json"
        path.write_text(json.dumps(self.statements, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Comparison:
    """What is compared, and how much is tried."""

    size: Size
    delta: float
    epsilons: Sequence[float]
    learning_rates: Sequence[float]
    tuning_seeds: int
    seeds: int
    draws: int | None = None
    mechanisms: Mapping[str, Mechanism] = field(default_factory=lambda: MECHANISMS)
    """The first one is what others are compared with."""

    @property
    def baseline(self) -> str:
        """Its name."""
        return next(iter(self.mechanisms))


def experiment(name: str, title: str, heads: Heads, comparison: Comparison) -> Experiment:
    """Accuracies, and errors of prefix sums relative to the first mechanism."""
    found, stated = compare(heads, comparison)
    return Experiment(panels(name, title, found, heads, comparison), stated)


def panels(
    name: str, title: str, found: Accuracies, heads: Heads, comparison: Comparison
) -> Panels:
    """Three diagrams: accuracies, differences, errors."""
    size = comparison.size
    schemes = list(dict.fromkeys(entry.scheme for entry in found.entries))
    errors = Drawing(
        name="mse",
        title="MSE of prefix sums at the same ε",
        x_label="ε",
        y_label=f"MSE / MSE of {comparison.baseline}",
        setting={**asdict(size), "delta": comparison.delta},
        curves=[Curve(one, *found.errors(one)) for one in schemes],
        log_y=False,
    )
    about = (
        f"{title}, {size.steps:,} steps with batches of {size.batch_size} of {size.examples:,}, "
        f"δ = {comparison.delta:g}"
    )
    drawings = [found, Differences(found), errors]
    return Panels(name, about, drawings, columns=3, cpu_seconds=heads.store.seconds)


def compare(heads: Heads, comparison: Comparison) -> tuple[Accuracies, list[dict[str, Any]]]:
    """Accuracies of all mechanisms at all epsilons, with the statements of all private runs."""
    tuning = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + comparison.tuning_seeds)
    seeds = range(FIRST_SEED, FIRST_SEED + comparison.seeds)
    entries, stated = [], []
    with progress("Training ...") as update:
        for epsilon in comparison.epsilons:
            for name, mechanism in comparison.mechanisms.items():
                update(f"{name}, epsilon {epsilon:g} ...")
                priced = price(
                    mechanism,
                    comparison.size,
                    Target(epsilon, comparison.delta),
                    heads.store,
                    draws=comparison.draws,
                )
                rate, tried = heads.tuned(priced, comparison.learning_rates, tuning)
                found = heads.accuracies(priced, rate, seeds)
                accuracies = [one["accuracy"] for one in found]
                entries.append(Entry(name, epsilon, priced, rate, accuracies))
                more = {"kind": priced.kind, "held_out": tried, "scheme": name, "epsilon": epsilon}
                stated.append({**more, **compact([one["statement"] for one in found])})
        update("without privacy ...")
        plain = Priced(poisson(comparison.size, 1), 0.0, "none", "none", 0.0)
        rate, _ = heads.tuned(plain, comparison.learning_rates, tuning)
        without = [one["accuracy"] for one in heads.accuracies(plain, rate, seeds[:PLAIN_SEEDS])]
    return Accuracies(entries, without, baseline=comparison.baseline), stated


def run_on_data(
    draw: Callable[[Path | None, bool], Experiment],
    description: str,
    arguments: Sequence[str] | None = None,
) -> int:
    """The command line of an experiment on data: print the tables, and write files."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the data set")
    parser.add_argument(
        "--small", action="store_true", help="few steps, without a DIR made-up data"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write PNG and JSON")
    options = parser.parse_args(arguments)
    found = draw(options.data, options.small)
    found.print()
    if options.output is not None:
        found.write(options.output)
    return 0
