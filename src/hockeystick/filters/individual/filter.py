"""Individual accounting: every example has a budget of its own and pays for what it contributes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import BoolArray, FloatArray
from hockeystick._process import OwnProcess, SetOnce
from hockeystick.errors import InvalidParameter
from hockeystick.filters.gaussian import UNDER_REPORTS, RegimeName
from hockeystick.filters.individual.rules import (
    RULES,
    ApproximateRule,
    GaussianRule,
    RenyiRule,
    Rule,
    step_charges,
)
from hockeystick.filters.individual.spending import (
    IndividualReport,
    IndividualStep,
    load_state,
    save_state,
)
from hockeystick.filters.registry import described_name, parameters_of, require_registered
from hockeystick.filters.renyi.conversion import budget_at_order
from hockeystick.filters.renyi.filter import checked_order
from hockeystick.filters.request import Expected, checked_expected
from hockeystick.guarantee import Analysis, Guarantee, Kind
from hockeystick.ledger.store import checked_budget

__all__ = ["Individual"]


class Individual(SetOnce):
    """A budget for each example, spent by the norm of its clipped contribution.

    Before a step the norms of the contributions of *all* examples are needed, sampled or not: every
    example pays, because its absence could have been noticed [Tran26, Algorithm 3], with the charge
    of the clipped norm, and [FeldmanZrnic21] for Renyi divergences. All budgets are equal. The kind
    is that of the rule: `renyi` and `gaussian` are proven, `approximate` is asymptotic and
    under-reports.

    Cost: O(examples) array operations per step. The state is in memory; `save` and `load` keep it,
    and copies, in this process or in another one, are refused.

    Parameters
    ----------
    examples
        How many.
    rule
        How contributions are charged; `renyi`, `gaussian` and `approximate` build filters with the
        rules that there are.

    Examples
    --------
    >>> import hockeystick as hs
    >>> people = hs.filters.Individual.gaussian(examples=3, mu=1.0)
    >>> step = people.step([0.5, 1.0, 20.0], noise_multiplier=2.0)
    >>> step.factors.tolist()  # contributions longer than the clip norm 1 are shortened
    [1.0, 1.0, 0.05]
    >>> people.remaining.round(4).tolist()
    [0.9375, 0.75, 0.75]
    """

    what: ClassVar[str] = "The state of individual budgets"
    instead: ClassVar[str] = "`save` and `load` keep it"

    def __init__(self, *, examples: int, rule: Rule) -> None:
        self.rule = rule
        self._steps = 0
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
        expected: Expected | None = None,
    ) -> Individual:
        """(epsilon, delta)-DP at one Renyi order that is fixed in advance; any rate. Proven.

        Parameters
        ----------
        examples
            How many.
        epsilon, delta
            The guarantee of the whole run.
        order
            The Renyi order; by default the one that allows most of what is expected.
        expected
            Expected steps (rate, noise_multiplier, steps), for contributions of the clip norm; the
            default is full batches.
        """
        epsilon = check.positive("epsilon", epsilon)
        delta = check.small_probability("delta", delta)
        order = checked_order(
            order, epsilon=epsilon, delta=delta, expected=checked_expected(expected)
        )
        budget = budget_at_order(order, epsilon, delta)
        return cls(examples=examples, rule=RenyiRule(order, budget))

    @classmethod
    def gaussian(cls, *, examples: int, mu: float, expected: Expected | None = None) -> Individual:
        """mu-GDP for full batches; smaller rates are charged like rate 1. Proven.

        `expected` is checked, and not used: there is nothing to choose.
        """
        checked_expected(expected)
        return cls(examples=examples, rule=GaussianRule.of_values(mu=mu))

    @classmethod
    def approximate(
        cls,
        *,
        examples: int,
        mu: float,
        regime: RegimeName = "small",
        expected: Expected | None = None,
    ) -> Individual:
        """About mu-GDP for small or large sampling rates. Asymptotic: it under-reports.

        `expected` is checked, and not used: there is nothing to choose.
        """
        checked_expected(expected)
        return cls(examples=examples, rule=ApproximateRule.of_values(mu=mu, regime=regime))

    def describe(self) -> dict[str, object]:
        """The rule and its parameters, from which `filters.from_description` builds it again.

        Nothing about the examples: what they have spent may not be released.
        """
        name = f"{require_registered(type(self))} {self.rule.name}"
        return {"filter": name, **self._parameters()}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """Budgets with the same rule, for one example: for their guarantee."""
        name = described_name(description)
        rule = RULES.get(name.partition(" ")[2])
        parameters = () if rule is None else rule.parameters
        values = parameters_of(description, name=name, parameters=parameters)
        if rule is None:
            raise InvalidParameter("filter", f"with a rule out of {', '.join(RULES)}", name)
        return cls(examples=1, rule=rule.of_values(**values))

    def step(
        self, norms: Any, *, rate: float = 1.0, noise_multiplier: float, clip_norm: float = 1.0
    ) -> IndividualStep:
        """Charge one step, and say how far each contribution has to be shortened.

        Contributions are clipped to the clip norm or to what the example can still pay, whichever
        is shorter. The charge counts from now on.

        Parameters
        ----------
        norms
            Of the unclipped contributions of all examples, sampled or not.
        rate
            Probability with which each example takes part.
        noise_multiplier
            Standard deviation of the noise over the clip norm.
        clip_norm
            The longest contribution.

        Returns
        -------
        IndividualStep
            The factors with which contributions are multiplied.
        """
        self._check_owner()
        norms = self._checked(norms)
        rate = check.sampling_rate("rate", rate)
        noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        clip_norm = check.positive("clip_norm", clip_norm)
        charges, factors = step_charges(
            self.rule,
            norms,
            self._remaining,
            rate=rate,
            noise_multiplier=noise_multiplier,
            clip_norm=clip_norm,
        )
        active = self._remaining > 0
        self._remaining -= charges
        self._steps += 1
        return IndividualStep(self._steps, factors, active)

    @property
    def steps(self) -> int:
        """How many steps were charged."""
        return self._steps

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
        method = f"individual {self.rule.name} filter"
        note = UNDER_REPORTS if self.kind == "asymptotic" else None
        analysis = Analysis(method, self.kind, self.rule.bound)
        return Guarantee((analysis,), find_note=lambda: note)

    def save(self, path: str | Path) -> None:
        """Keep the state in a file, which is replaced in one piece.

        Call it after `step` and before anything of that step is released: charges that are lost in
        a crash would be spent twice.
        """
        self._check_owner()
        save_state(Path(path), rule=self._rule(), remaining=self._remaining, steps=self.steps)

    def load(self, path: str | Path) -> None:
        """Continue from a file that was saved with the same rule and as many examples.

        A state in which any example has more left than now, or that has fewer steps, is refused:
        loading it would give budget back. New budgets have spent nothing, so that they take every
        state: which of several files is the latest is for the caller to know.
        """
        self._check_owner()
        remaining, steps = load_state(
            Path(path), rule=self._rule(), examples=self.examples, budget=self.budget
        )
        if steps < self.steps or np.any(remaining > self._remaining):
            allowed = f"a state that is not behind these budgets, which have {self.steps} steps"
            raise InvalidParameter("path", allowed, f"{path} with {steps} steps")
        self._remaining, self._steps = remaining, steps

    def __repr__(self) -> str:
        return (
            f"Individual(rule={self.rule.name!r}, kind={self.kind!r}, examples={self.examples}, "
            f"steps={self.steps})"
        )

    def _parameters(self) -> dict[str, object]:
        return {name: getattr(self.rule, name) for name in self.rule.parameters}

    def _rule(self) -> Mapping[str, object]:
        """As a saved state names it."""
        return {"rule": self.rule.name, **self._parameters()}

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
