"""The course that `epsilon`, `delta` and `calibrate` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.cli.answers import Answers, Quantity
from hockeystick.cli.options import AccountingOptions, OutputOptions, PlanOptions
from hockeystick.cli.output import answers_object, print_answers, print_json
from hockeystick.cli.plans import described
from hockeystick.cli.plotting import Spot, draw_plot
from hockeystick.cli.pricing import Ask, Priced, best_of, price
from hockeystick.cli.yardsticks import Yardsticks
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.report.figure import check_figure_file
from hockeystick.report.progress import progress

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """What is asked: `given` are the numbers that go with the plan, `ask` puts it to a method.

    `spot` says where the answer lies in the plane of noise and epsilon, `yardsticks` what it is
    compared with.
    """

    plan: Plan
    quantity: Quantity
    given: dict[str, float]
    ask: Ask
    spot: Callable[[Priced], Spot]
    yardsticks: Yardsticks | None = None

    def answer(
        self, run: PlanOptions, accounting: AccountingOptions, output: OutputOptions
    ) -> None:
        """Price the plan and show what came out."""
        if output.plot is not None:
            check_figure_file("plot", output.plot)
            if accounting.by_draws:
                allowed = "left out for the method monte-carlo, which has a number and no curve"
                raise InvalidParameter("plot", allowed, str(output.plot))
        described_plan = described(self.plan, run)
        with progress("Pricing ...") as update:
            rows = price(self.plan, method=accounting.method, ask=self.ask, update=update)
            baselines = [] if self.yardsticks is None else self.yardsticks.of(self.plan, update)
            if output.plot is not None:
                spot = self.spot(best_of(rows)[1])
                direction = accounting.direction
                draw_plot(
                    output.plot, self.plan, rows=rows, spot=spot, direction=direction, update=update
                )
        given: dict[str, float | str] = {**self.given, "direction": accounting.direction}
        answers = Answers(described_plan, self.quantity, given, rows, output.plot, baselines)
        if output.json:
            print_json(answers_object(answers))
        else:
            print_answers(answers)
