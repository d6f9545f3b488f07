"""The recommendation of a comparison: what to use, how much it gains, how to run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hockeystick.accounting.candidates import users_with
from hockeystick.accounting.compare import Compared
from hockeystick.report import (
    parameters_text,
    percent_above,
    result_row,
    scheme_of,
    strategy_text,
    upper_text,
)
from hockeystick.report.reproduction import OptimizerSetting, commands, training_code
from hockeystick.schemes import Attribution

__all__ = ["Recommendation", "recommended"]


@dataclass(frozen=True)
class Recommendation:
    """The candidate with the least error, and plain DP-SGD beside it.

    `baseline` is None only where nobody calibrated one.
    """

    best: Compared
    baseline: Compared | None
    candidates: int
    examples: int
    optimizer: OptimizerSetting
    examples_per_user: int | None = None

    @cached_property
    def data(self) -> int | Attribution:
        """The number of examples, or whose they are."""
        if self.examples_per_user is None:
            return self.examples
        return users_with(self.examples_per_user, examples=self.examples)

    @property
    def advantage(self) -> int | None:
        """By how many per cent the error is below that of plain DP-SGD, rounded down."""
        return None if self.baseline is None else -percent_above(self.best, self.baseline)

    @property
    def setting(self) -> str:
        """Scheme and strategy with all their parameters."""
        inside = parameters_text(self.best)
        text = f"{scheme_of(self.best)}, {strategy_text(self.best)}"
        return f"{text} ({inside})" if inside else text

    @property
    def gain(self) -> str:
        """The error beside that of plain DP-SGD, in a clause."""
        error = upper_text(self.best.mean_squared_error)
        if self.baseline is None or self.advantage is None:
            return f"error {error}"
        if self.best is self.baseline:
            return f"error {error}; this is plain DP-SGD, and nothing that was tried has less"
        other = upper_text(self.baseline.mean_squared_error)
        if self.advantage <= 0:
            return f"error {error}; plain DP-SGD has {other}"
        return f"error {error}, {self.advantage} % below plain DP-SGD's {other}"

    @property
    def caveat(self) -> str:
        """What the gain means for training, and what it does not."""
        if not self.optimizer.linear:
            return (
                f"The iterates of {self.optimizer} are not linear in the gradients, so that what "
                "noise does to them depends on the data and has no formula. Compared is "
                "independent noise alone, by the mean square of the noise in the sums of the "
                "gradients, at clip norm 1 and the same privacy: the order is that of the noise "
                "in a single step. Correlated noise may help too; its error for SGD is what the "
                "comparison for sgd shows, and only training tells."
            )
        text = (
            f"The error is the mean square of the noise in the iterates of {self.optimizer}, at "
            "clip norm 1 and the same privacy"
        )
        if self.optimizer.schedule is not None:
            text += ", in units of the largest learning rate"
        if not self.best.plan.correlated:
            return f"{text}. Whether that shows in the accuracy, only training tells."
        return (
            f"{text}. Less of it need not mean better accuracy: correlated noise is larger in "
            "every single step before it cancels, and on a small task 4 to 43 % less error gave "
            "no better accuracy (`hockeystick docs training`, digits). Try both on data that are "
            "public or accounted for."
        )

    @property
    def command(self) -> str:
        """The next command: the noise of the recommended setting."""
        return commands(self.best, examples=self.examples, seed=1, optimizer=self.optimizer)[0]

    @property
    def python(self) -> str:
        """A script from the plan to the statement."""
        return training_code(
            self.best,
            examples=self.examples,
            optimizer=self.optimizer,
            examples_per_user=self.examples_per_user,
        )

    def as_object(self) -> dict[str, Any]:
        """The same as plain values."""
        baseline = None if self.baseline is None else result_row(self.baseline, self.data)
        return {
            **result_row(self.best, self.data),
            "setting": self.setting,
            "optimizer": str(self.optimizer),
            "baseline": baseline,
            "percent_below_baseline": self.advantage,
            "gain": self.gain,
            "caveat": self.caveat,
            "command": self.command,
            "python": self.python,
        }


def recommended(
    compared: Sequence[Compared],
    *,
    examples: int,
    optimizer: OptimizerSetting | None = None,
    examples_per_user: int | None = None,
    baseline: Compared | None = None,
) -> Recommendation:
    """The recommendation; without a baseline the one among the compared is taken."""
    found = next((one for one in compared if one.baseline), baseline)
    return Recommendation(
        best=compared[0],
        baseline=found,
        candidates=len(compared),
        examples=examples,
        optimizer=optimizer or OptimizerSetting(),
        examples_per_user=examples_per_user,
    )
