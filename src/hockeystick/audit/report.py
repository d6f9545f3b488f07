"""AuditReport: what the canaries of a run say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.accounting import account
from hockeystick.audit.crowd import Crowd, CrowdFit
from hockeystick.audit.fit import Fit, fit_of
from hockeystick.audit.hypotheses import decorrelated
from hockeystick.audit.lower_bounds import epsilon_of_scores, largest_noise, measured_noise
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan

__all__ = ["SIGNIFICANCE", "AuditReport", "Finding"]

# A correct run is called inconsistent once in a thousand audits.
SIGNIFICANCE = 1e-3
# Spreads of a sum of squares by which a step differs from the others: one run in a thousand has a
# correct step among 500 that does.
FAR_OFF = 5.0
ASSUMPTIONS = ("plan", "trade-off", "nothing")


class Finding(NamedTuple):
    """What does not fit, or what fits better.

    Attributes
    ----------
    text
        In a sentence.
    p_value
        The probability of something as far off in a correct run, of this statistic alone.
    """

    text: str
    p_value: float


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The outcome of an audit; made by `hs.audit.check`.

    Attributes
    ----------
    plan, noise_multiplier
        What was planned.
    scores
        log LR of each canary by the plan: with the example over without it.
    members
        Which canaries were in the data.
    fit
        The statistics behind `p_value`.
    projections
        What was observed: canaries by steps, in units of the clip norm.
    crowd
        Members that share a direction, beside all others above; None without.
    """

    plan: Plan
    noise_multiplier: float
    scores: FloatArray
    members: NDArray[np.bool_]
    fit: Fit
    projections: FloatArray
    crowd: Crowd | None = None

    @property
    def p_value(self) -> float:
        """The probability that a correct run is as far off, corrected for the number of tests."""
        return self.fit.p_value

    @property
    def consistent(self) -> bool:
        """Whether the run fits its plan: wrong for one correct run in a thousand."""
        return self.p_value >= SIGNIFICANCE

    def epsilon_lower(
        self, delta: float, *, confidence: float = 0.95, assuming: str = "plan"
    ) -> float:
        """A lower confidence bound on the epsilon of the run.

        Parameters
        ----------
        delta
            In (0, 1).
        confidence
            The probability with which the bound holds.
        assuming
            "plan": the run is the plan at *some* noise multiplier, which the canaries that are not
            in the data measure; refused if the run does not fit the plan at that noise either.
            "trade-off": it has the trade-off function of the plan at some noise multiplier, which
            is bounded by how many members are found, with how many false alarms; for runs that are
            not the plan. Both need members and others, and an analysis with a lower bound.
            "nothing": valid for any run, if each canary was a member independently with probability
            1/2; much smaller, because a thousand canaries cannot show rare events
            [SteinkeNasrJagielski23].

        Returns
        -------
        float
            0 if nothing is shown.
        """
        delta = check.small_probability("delta", delta)
        confidence = check.small_probability("confidence", confidence)
        assuming = check.choice("assuming", assuming, ASSUMPTIONS)
        if assuming == "nothing":
            return epsilon_of_scores(self.scores, self.members, delta=delta, confidence=confidence)
        if self.members.all() or not self.members.any():
            raise InvalidParameter(
                "assuming", "'nothing' unless there are members and others", assuming
            )
        own = assuming == "plan"
        noise = self._measured_noise(confidence) if own else self._largest_noise(confidence)
        if not 0 < noise < np.inf:
            return 0.0
        lower = account(self.plan, noise_multiplier=noise).answer(delta=delta).lower
        if lower is None:
            raise InvalidParameter(
                "assuming", "'nothing' for plans without a proven lower bound", assuming
            )
        return lower

    def _measured_noise(self, confidence: float) -> float:
        fit = self.fit
        if not self.consistent and fit.noise_factor > 0:
            noise = self.noise_multiplier * fit.noise_factor
            found = (self.projections, self.members)
            fit = fit_of(self.plan, noise, *found, crowd=self.crowd, seed=0)
        if fit.p_value < SIGNIFICANCE:
            raise InvalidParameter(
                "assuming",
                "'trade-off' or 'nothing': at no noise does the run fit its plan",
                "plan",
            )
        others = decorrelated(self.plan.strategy, self.projections[~self.members])
        return measured_noise(others, confidence=confidence)

    def _largest_noise(self, confidence: float) -> float:
        guessed = self.scores > 0
        return largest_noise(
            self.plan,
            self.noise_multiplier,
            found=int(guessed[self.members].sum()),
            members=int(self.members.sum()),
            alarms=int(guessed[~self.members].sum()),
            others=int((~self.members).sum()),
            confidence=confidence,
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What does not fit, the most telling first; empty for a consistent run."""
        return () if self.consistent else tuple(_findings(self))

    @property
    def _crowd_size(self) -> int:
        return 0 if self.crowd is None else self.crowd.size

    def describe(self) -> dict[str, Any]:
        """The outcome as plain values, for JSON."""
        return {
            "canaries": len(self.members) + self._crowd_size,
            "members": int(self.members.sum()) + self._crowd_size,
            "crowd": self._crowd_size,
            "steps": self.plan.steps,
            "consistent": self.consistent,
            "p_value": self.p_value,
            "noise_factor": self.fit.noise_factor,
            "findings": [finding._asdict() for finding in self.findings],
        }

    def __str__(self) -> str:
        canaries = len(self.members) + self._crowd_size
        head = (
            f"{'consistent' if self.consistent else 'inconsistent'} with the plan: p = "
            f"{self.p_value:.2g}, {canaries} canaries, {self.plan.steps} steps, noise "
            f"{self.fit.noise_factor:.4f} times the plan's"
        )
        return "\n".join((head, *(f"- {finding.text}" for finding in self.findings)))

    def plot(self) -> Any:
        """The scores of members and others beside their expectation, and the noise of each step.

        Returns
        -------
        matplotlib.figure.Figure
            With `savefig`. Needs the extra `plot`.
        """
        from importlib import import_module

        # The report is a layer above this one; it is only loaded for a picture.
        return import_module("hockeystick.report.figure").audit_figure(self)


def _findings(report: AuditReport) -> list[Finding]:
    """Everything that alone would make the run inconsistent, in the order of its strength."""
    fit, found = report.fit, []
    steps = np.flatnonzero(fit.p_squares * fit.p_squares.size < SIGNIFICANCE)
    total = float(fit.p_total[0])
    # Noise that is wrong by one factor in all steps is one finding, not one for each step.
    usual = float(np.median(fit.ratios))
    spread = np.sqrt(2 / len(report.members))
    steps = steps[np.abs(fit.ratios[steps] - usual) > FAR_OFF * spread * usual]
    if total < SIGNIFICANCE:
        text = f"the noise is {fit.noise_factor:.3f} times what was planned"
        found.append(Finding(text, total))
    if steps.size:
        found.append(Finding(_about_steps(report, steps), float(fit.p_squares[steps].min())))
    if fit.p_restarts.size and fit.p_restarts.min() * fit.p_restarts.size < SIGNIFICANCE:
        # Wrong noise of another kind has the same effect, in many steps.
        anew = np.flatnonzero(fit.p_restarts * fit.p_restarts.size < SIGNIFICANCE)
        if anew.size < report.plan.strategy.bands:
            step = int(fit.p_restarts.argmin()) + 2
            text = f"the correlated noise begins anew at step {step}"
            found.append(Finding(text, float(fit.p_restarts.min())))
    better = np.flatnonzero((fit.p_gains * fit.p_gains.size < SIGNIFICANCE) & (fit.gains > 0))
    for index in better[np.argsort(-fit.gains[better])]:
        text = (
            f"{fit.alternatives[index].name}: fits better by {fit.gains[index]:.0f} in log "
            "likelihood"
        )
        found.append(Finding(text, float(fit.p_gains[index])))
    lags = np.flatnonzero(fit.p_products * max(fit.p_products.size, 1) < SIGNIFICANCE) + 1
    if lags.size:
        text = f"outputs {_some(lags)} steps apart are not correlated as planned"
        found.append(Finding(text, float(fit.p_products.min())))
    means = np.flatnonzero(fit.p_means * fit.p_means.size < SIGNIFICANCE)
    if means.size:
        text = f"members take part in step {_some(means + 1)} more or less often than planned"
        found.append(Finding(text, float(fit.p_means.min())))
    found += _about_crowd(fit.crowd)
    return sorted(found, key=lambda finding: finding.p_value) or [
        Finding("several small differences, none of which decides alone", report.p_value)
    ]


def _about_crowd(crowd: CrowdFit | None) -> list[Finding]:
    """How batches were drawn instead, and how much more or less their sizes vary."""
    if crowd is None:
        return []
    found, who = [], f"a crowd of {crowd.size} members"
    for name, gain, p in zip(crowd.names, crowd.gains, crowd.p_gains, strict=True):
        if gain > 0 and p * crowd.p_gains.size < SIGNIFICANCE:
            found.append(
                Finding(f"{name}: fits {who} better by {gain:.0f} in log likelihood", float(p))
            )
    if crowd.p_spread[0] < SIGNIFICANCE:
        text = f"what {who} releases varies {crowd.ratio:.2f} times as much as planned"
        found.append(Finding(text, float(crowd.p_spread[0])))
    return found


def _about_steps(report: AuditReport, steps: NDArray[np.int64]) -> str:
    """Noise that is missing in some steps, or of another size."""
    ratios = report.fit.ratios[steps]
    where = f"in step {_some(steps + 1)}" if steps.size < 6 else f"in {steps.size} steps"
    if (ratios < 0.1).all():
        return f"noise is missing {where}"
    return f"the noise {where} is {float(np.sqrt(ratios.mean())):.2f} times what was planned"


def _some(numbers: NDArray[np.int64]) -> str:
    shown = ", ".join(str(int(number)) for number in numbers[:4])
    return shown + (", ..." if numbers.size > 4 else "")
