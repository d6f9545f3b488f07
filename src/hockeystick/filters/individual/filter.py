"""Individual accounting: every example has a budget of its own and pays for what it contributes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import BoolArray, FloatArray
from hockeystick._process import OwnProcess, Uncopied
from hockeystick.errors import InvalidParameter
from hockeystick.filters.approximate_gaussian import UNDER_REPORTS
from hockeystick.filters.individual.report import IndividualReport
from hockeystick.filters.individual.rules import ApproximateRule, GaussianRule, RenyiRule, Rule
from hockeystick.filters.individual.state import load_state, save_state
from hockeystick.filters.regimes import RegimeName, chosen_regime
from hockeystick.filters.renyi.charge import budget_at_order
from hockeystick.filters.renyi.filter import checked_order
from hockeystick.guarantee import Analysis, Guarantee, Kind
from hockeystick.ledger.amounts import checked_budget

__all__ = ["Individual", "IndividualStep"]


@dataclass(frozen=True, eq=False)
class IndividualStep:
    """What each example may contribute to one step.

    Gradients are multiplied by `factors` before they are summed; examples that are not `active` are
    exhausted and contribute nothing. Neither may be released: both depend on the data.
    """

    number: int
    factors: FloatArray
    active: BoolArray


class Individual(Uncopied):
    """A budget for each example, spent by the norm of its clipped contribution.

    Before a step the norms of the contributions of *all* examples are needed, sampled or not: every
    example pays, because its absence could have been noticed. fdp_filters, Algorithm 3, with the
    charge of the clipped norm, and Feldman & Zrnic 2021 for Renyi divergences. All budgets are
    equal. The kind is that of the rule: `renyi` and `gaussian` are proven, `approximate` is
    asymptotic and under-reports.

    Cost: O(examples) array operations per step. The state is in memory; `save` and `load` keep it,
    and copies, in this process or in another one, are refused.
    """

    what: ClassVar[str] = "The state of individual budgets"
    instead: ClassVar[str] = "`save` and `load` keep it"

    def __init__(self, *, examples: int, rule: Rule) -> None:
        self.rule = rule
        self.steps = 0
        budget = checked_budget(rule.budget)
        count = check.storable("examples", check.positive_integer("examples", examples))
        self._remaining = np.full(count, budget)
        self._owner = OwnProcess()

    @classmethod
    def renyi(
        cls,
        *,
        examples: int,
        epsilon: float,
        delta: float,
        order: float | None = None,
        expected_rate: float = 1.0,
        expected_noise_multiplier: float = 1.0,
    ) -> Individual:
        """(epsilon, delta)-DP at one Renyi order that is fixed in advance; any rate. Proven."""
        epsilon = check.positive("epsilon", epsilon)
        delta = check.small_probability("delta", delta)
        order = checked_order(
            order,
            epsilon=epsilon,
            delta=delta,
            expected_rate=expected_rate,
            expected_noise_multiplier=expected_noise_multiplier,
        )
        budget = budget_at_order(order, epsilon, delta)
        return cls(examples=examples, rule=RenyiRule(order, budget))

    @classmethod
    def gaussian(cls, *, examples: int, mu: float) -> Individual:
        """mu-GDP for full batches; smaller rates are charged like rate 1. Proven."""
        return cls(examples=examples, rule=GaussianRule(check.positive("mu", mu)))

    @classmethod
    def approximate(cls, *, examples: int, mu: float, regime: RegimeName = "small") -> Individual:
        """About mu-GDP for small or large sampling rates. Asymptotic: it under-reports."""
        chosen_regime(regime)
        return cls(examples=examples, rule=ApproximateRule(check.positive("mu", mu), regime))

    def step(
        self, norms: Any, *, rate: float = 1.0, noise_multiplier: float, clip_norm: float = 1.0
    ) -> IndividualStep:
        """Charge one step, and say how far each contribution has to be shortened.

        `norms` are those of the unclipped contributions of all examples; the noise has the standard
        deviation noise_multiplier * clip_norm. Contributions are clipped to the clip norm or to
        what the example can still pay, whichever is shorter. The charge counts from now on.
        """
        self._check_owner()
        norms = self._checked(norms)
        rate = check.sampling_rate("rate", rate)
        noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        clip_norm = check.positive("clip_norm", clip_norm)
        with np.errstate(over="ignore"):
            clipped = np.minimum(norms / clip_norm, 1.0)
        largest = (1 / noise_multiplier) * (1 / noise_multiplier)
        if not 0 < largest < math.inf:
            raise InvalidParameter("noise_multiplier", "in (1e-150, 1e150)", noise_multiplier)
        charges = self.rule.charges(rate, clipped**2 * largest, largest)
        charges = np.minimum(charges, 2 * self.budget)
        place = math.ulp(self.budget)
        # Multiples of the last place of the budget: differences are exact. Nothing is free.
        charges = np.maximum(np.ceil(charges / place), norms > 0) * place
        short = np.flatnonzero(charges > self._remaining)
        if short.size:
            left = self._remaining[short]
            squares = self.rule.largest_squares(rate, left, largest)
            lengths = np.sqrt(np.maximum(squares, 0.0)) * noise_multiplier
            clipped[short] = np.minimum(clipped[short], lengths)
            charges[short] = left
        active = self._remaining > 0
        factors = np.divide(clipped * clip_norm, norms, out=np.ones_like(norms), where=norms > 0)
        # A product of factor and norm may be rounded up by some ulps: less than charges are.
        factors = np.where(active, np.minimum(factors, 1.0), 0.0)
        self._remaining -= charges
        self.steps += 1
        return IndividualStep(self.steps, factors, active)

    @property
    def kind(self) -> Kind:
        """How far the claim is established."""
        return self.rule.kind

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return self._remaining.size

    @property
    def budget(self) -> float:
        """What each example may spend, in the unit of the rule."""
        return self.rule.budget

    @property
    def spent(self) -> FloatArray:
        """What each example has spent. Not releasable: it depends on the data."""
        return self.rule.budget - self._remaining

    @property
    def remaining(self) -> FloatArray:
        """What each example has left. Not releasable: it depends on the data."""
        return self._remaining.copy()

    @property
    def active(self) -> BoolArray:
        """Which examples can still contribute. Not releasable: it depends on the data."""
        return self._remaining > 0

    def report(self) -> IndividualReport:
        """The spending of every example, for inspection only."""
        return IndividualReport(self.spent, budget=self.budget, steps=self.steps)

    def guarantee(self) -> Guarantee:
        """What holds for the run, however the steps are chosen: no example exceeds its budget."""
        method = f"individual {self.rule.describe()['rule']} filter"
        note = UNDER_REPORTS if self.kind == "asymptotic" else None
        analysis = Analysis(method, self.kind, self.rule.bound)
        return Guarantee((analysis,), note=note)

    def save(self, path: str | Path) -> None:
        """Keep the state in a file, which is replaced in one piece.

        Call it after `step` and before anything of that step is released: charges that are lost in
        a crash would be spent twice.
        """
        self._check_owner()
        save_state(
            Path(path), rule=self.rule.describe(), remaining=self._remaining, steps=self.steps
        )

    def load(self, path: str | Path) -> None:
        """Continue from a file that was saved with the same rule and as many examples.

        A state in which any example has more left than now, or that has fewer steps, is refused:
        loading it would give budget back. New budgets have spent nothing, so that they take every
        state: which of several files is the latest is for the caller to know.
        """
        self._check_owner()
        remaining, steps = load_state(
            Path(path), rule=self.rule.describe(), examples=self.examples, budget=self.budget
        )
        if steps < self.steps or np.any(remaining > self._remaining):
            allowed = f"a state that is not behind these budgets, which have {self.steps} steps"
            raise InvalidParameter("path", allowed, f"{path} with {steps} steps")
        self._remaining, self.steps = remaining, steps

    def __repr__(self) -> str:
        rule = self.rule.describe()["rule"]
        return (
            f"Individual(rule={rule!r}, kind={self.kind!r}, examples={self.examples}, "
            f"steps={self.steps})"
        )

    def _check_owner(self) -> None:
        """A child process has a copy, and would spend every budget once more."""
        self._owner.check(self.what, instead="spend it in one process only")

    def _checked(self, norms: Any) -> FloatArray:
        allowed = f"{self.examples} finite numbers >= 0, one for each example"
        values = check.vector("norms", norms, allowed)
        if values.shape != self._remaining.shape:
            raise InvalidParameter("norms", allowed, f"the shape {values.shape}")
        if not (values.min() >= 0 and values.max() < math.inf):
            raise InvalidParameter("norms", allowed, norms)
        return values
