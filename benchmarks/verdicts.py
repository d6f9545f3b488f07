"""Whether what we promise holds, and by how much not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cases import CASES
from promises import PROMISES, Promise


@dataclass(frozen=True)
class Verdict:
    """A promise and what was measured; `reason` says why nothing was."""

    promise: Promise
    measured: float | None = None
    reason: str = ""

    @property
    def held(self) -> bool:
        """Measured, and within the bound."""
        return self.measured is not None and self.missed_by == 0

    @property
    def missed_by(self) -> float:
        """How far beyond the bound, relatively; as it stands if the bound is 0."""
        if self.measured is None:
            return 0.0
        if self.promise.least is not None:
            return max(1 - self.measured / self.promise.least, 0.0)
        assert self.promise.most is not None
        beyond = max(self.measured - self.promise.most, 0.0)
        return beyond / self.promise.most if self.promise.most else beyond

    @property
    def text(self) -> str:
        """held, missed by how much, or not measured and why."""
        if self.measured is None:
            return f"not measured: {self.reason}"
        return "held" if self.held else f"missed by {100 * self.missed_by:.3g} %"


def verdict(promise: Promise, results: dict) -> Verdict:
    """What the results say about one promise."""
    answers = results.get(promise.case)
    if answers is None:
        return Verdict(promise, reason="the case was not run")
    for name in promise.quantity.needs:
        if "error" in answers.get(name, {"error": "no answer"}):
            error = answers.get(name, {"error": "no answer"})["error"]
            return Verdict(promise, reason=f"{name}: {error}")
    return Verdict(promise, promise.quantity(answers, CASES[promise.case].typical))


def verdicts(results: dict, promises: Iterable[Promise] = PROMISES) -> list[Verdict]:
    """All promises, in their order."""
    return [verdict(promise, results) for promise in promises]
