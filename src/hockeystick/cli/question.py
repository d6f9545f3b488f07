"""The course that `epsilon`, `delta`, `calibrate` and `verify` share: ask, plot, print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.table import Table

from hockeystick.cli.answers import (
    Answers,
    Ask,
    BaselineQuestion,
    MethodAnswer,
    Quantity,
    Row,
    answer_all,
    best_of,
)
from hockeystick.cli.options import AccountingOptions, OutputOptions, PlanOptions
from hockeystick.cli.output import answers_object, plan_text, print_answers, print_json, stdout
from hockeystick.cli.plans import described
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.report import Update, count_text, progress, upper_text
from hockeystick.report.figure import check_figure_file, save_figure
from hockeystick.report.noise_figure import Mark, noise_around, noise_curve, noise_figure

if TYPE_CHECKING:
    from hockeystick.montecarlo.verifier import DrawPlan

__all__ = ["Question", "Spot", "draw_plot", "show_draw_plans"]

# Curves need a delta inside (0, 1), whatever the answer was.
SMALLEST_DELTA, LARGEST_DELTA = 1e-280, 0.99


class Spot(NamedTuple):
    """Where the question and its answer are: around this point the curves are drawn."""

    noise_multiplier: float
    epsilon: float
    delta: float


def draw_plot(
    path: Path, plan: Plan, *, rows: list[Row], spot: Spot, direction: str, update: Update
) -> None:
    """Epsilon against noise around the spot, a curve for each row, written to the file."""
    delta = min(max(spot.delta, SMALLEST_DELTA), LARGEST_DELTA)
    noise = noise_around(spot.noise_multiplier)
    curves = []
    for row in rows:
        update(f"Drawing {row.method} ...")
        curves.append(
            noise_curve(
                plan,
                label=row.method,
                kind=row.kind,
                noise=noise,
                delta=delta,
                method=row.asked,
                direction=direction,
            )
        )
    text = f"noise {upper_text(spot.noise_multiplier)}, ε {upper_text(spot.epsilon)}"
    mark = Mark(spot.noise_multiplier, spot.epsilon, text)
    title = f"{plan_text(plan.describe())}, δ = {delta:.4g}"
    save_figure(noise_figure(curves, mark=mark, title=title), path)


@dataclass(frozen=True)
class Question:
    """What is asked: `given` are the numbers that go with the plan, `ask` puts it to a method.

    `spot` says where the answer lies in the plane of noise and epsilon, `comparison` what it is
    compared with.
    """

    plan: Plan
    quantity: Quantity
    given: dict[str, float]
    ask: Ask
    spot: Callable[[MethodAnswer], Spot]
    comparison: BaselineQuestion | None = None

    def answer(
        self, run: PlanOptions, accounting: AccountingOptions, output: OutputOptions
    ) -> None:
        """Account for the plan and show what came out."""
        if output.plot is not None:
            check_figure_file("plot", output.plot)
            if accounting.by_draws:
                allowed = "left out for the method monte-carlo, which has a number and no curve"
                raise InvalidParameter("plot", allowed, str(output.plot))
        described_plan = described(self.plan, run)
        with progress("Accounting ...") as update:
            rows = answer_all(self.plan, method=accounting.method, ask=self.ask, update=update)
            baselines = [] if self.comparison is None else self.comparison.of(self.plan, update)
            if output.plot is not None:
                spot = self.spot(best_of(rows)[1])
                direction = accounting.direction
                draw_plot(
                    output.plot, self.plan, rows=rows, spot=spot, direction=direction, update=update
                )
            risks = best_of(rows)[1].guarantee.risks() if output.risk else None
        given: dict[str, float | str] = {**self.given, "direction": accounting.direction}
        answers = Answers(described_plan, self.quantity, given, rows, output.plot, baselines, risks)
        if output.json:
            print_json(answers_object(answers))
        else:
            print_answers(answers)


def show_draw_plans(
    plan: Mapping[str, Any], drafts: Sequence[DrawPlan], *, delta: float, json: bool
) -> None:
    """A table for each candidate, noisiest first, or one JSON object."""
    if json:
        print_json({"plan": plan, "delta": delta, "candidates": [_plain(one) for one in drafts]})
        return
    console = stdout()
    console.print(plan_text(plan), style="bold")
    if len(drafts) > 1:
        console.print(
            "tested in turn, up to the first that fails; the last that passes is the noise"
        )
    for number, draft in enumerate(drafts, start=1):
        which = f"candidate {number} of {len(drafts)}: " if len(drafts) > 1 else ""
        console.print(f"\n{which}noise multiplier {draft.noise_multiplier:.6g}", style="bold")
        if not draft.feasible:
            console.print(f"would fail: the pilot estimates delta at {draft.estimated_delta:.3g}")
            continue
        console.print(_table(draft), soft_wrap=False)
        console.print(
            f"{count_text(draft.draws)} draws, about {draft.seconds:.0f} s; passes up to delta = "
            f"{draft.passes_up_to:.3g}, {draft.passes_up_to / delta:.0%} of the claimed one; "
            f"estimated delta {draft.estimated_delta:.3g}"
        )
    if not drafts:
        console.print("no candidate: the proven noise is the answer; more draws may change that")


def _table(draft: DrawPlan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    users = any(trial.held > 1 for trial in draft.trials)
    for title in ("direction", *(["examples"] if users else []), "part"):
        table.add_column(title)
    for title in ("draws", "passes up to"):
        table.add_column(title, justify="right")
    for trial in draft.trials:
        number = count_text(trial.draws)
        held = [str(trial.held)] if users else []
        table.add_row(trial.direction, *held, trial.part, number, f"{trial.threshold:.4g}")
    return table


def _plain(draft: DrawPlan) -> dict[str, Any]:
    return {**asdict(draft), "draws": draft.draws}
