"""Individual accounting: every example has a budget of its own and pays for what it contributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.filters.gaussian import UNDER_REPORTS, RegimeName
from hockeystick.filters.individual.rules import (
    RULES,
    ApproximateRule,
    GaussianRule,
    RenyiRule,
    step_charges,
)
from hockeystick.filters.individual.spending import IndividualStep, checked_norms
from hockeystick.filters.individual.state import ChargedExamples, KeptIn
from hockeystick.filters.registry import described_name, parameters_of, require_registered
from hockeystick.filters.renyi import checked_order
from hockeystick.filters.renyi.divergence import budget_at_order
from hockeystick.filters.request import Expected, checked_expected
from hockeystick.guarantee import Analysis, Guarantee

__all__ = ["Individual"]

# Smaller rates are charged like this one.
SMALLEST_RATE = 1e-9


class Individual(ChargedExamples):
    """A budget for each example, spent by the norm of its clipped contribution.

    Before a step the norms of the contributions of *all* examples are needed, sampled or not: every
    example pays, because its absence could have been noticed [Tran26, Algorithm 3], with the charge
    of the clipped norm, and [FeldmanZrnic21] for Renyi divergences. Budgets and rates may differ by
    example, if those of an example depend on this example and on public facts alone. The kind is
    that of the rule: `renyi` and `gaussian` are proven, `approximate` is asymptotic and
    under-reports.

    Cost: O(examples) array operations per step. With a ledger every step is on the disk before it
    returns. Without one the state is in memory; `save` and `load` keep it. Copies, in this process
    or in another one, are refused.

    Parameters
    ----------
    examples
        How many.
    rule
        How contributions are charged; `renyi`, `gaussian` and `approximate` build filters with the
        rules that there are, and take the next five as well.
    shares
        The budget of each example, as a share in (0, 1] of the rule's; None means all of it.
    participation
        In (0, 1] for each example: it takes part with this probability times the rate of a step.
        `step` draws who does not, and sets the factors of these to 0; so a run that samples at the
        common rate needs nothing else. None means 1.
    ledger
        A path, a database URL or a `Ledger` where the budgets are kept; the same name again goes on
        with them, one process at a time. Only its owner may read the file.
    name
        Which budgets of the ledger these are.
    must_exist
        As for `open_store`.

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

    @classmethod
    def renyi(
        cls,
        *,
        examples: int,
        epsilon: float,
        delta: float,
        order: float | None = None,
        expected: Expected | None = None,
        **kept: Unpack[KeptIn],
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
        kept
            `shares`, `participation`, `ledger`, `name` and `must_exist`.
        """
        epsilon = check.positive("epsilon", epsilon)
        delta = check.small_probability("delta", delta)
        order = checked_order(
            order, epsilon=epsilon, delta=delta, expected=checked_expected(expected)
        )
        budget = budget_at_order(order, epsilon, delta)
        return cls(examples=examples, rule=RenyiRule(order, budget), **kept)

    @classmethod
    def gaussian(
        cls, *, examples: int, mu: float, expected: Expected | None = None, **kept: Unpack[KeptIn]
    ) -> Individual:
        """mu-GDP for full batches; smaller rates are charged like rate 1. Proven.

        `expected` is checked, and not used: there is nothing to choose.
        """
        checked_expected(expected)
        return cls(examples=examples, rule=GaussianRule.of_values(mu=mu), **kept)

    @classmethod
    def approximate(
        cls,
        *,
        examples: int,
        mu: float,
        regime: RegimeName = "small",
        expected: Expected | None = None,
        **kept: Unpack[KeptIn],
    ) -> Individual:
        """About mu-GDP for small or large sampling rates. Asymptotic: it under-reports.

        `expected` is checked, and not used: there is nothing to choose.
        """
        checked_expected(expected)
        rule = ApproximateRule.of_values(mu=mu, regime=regime)
        return cls(examples=examples, rule=rule, **kept)

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
        self, norms: Any, *, rate: Any = 1.0, noise_multiplier: float, clip_norm: float = 1.0
    ) -> IndividualStep:
        """Charge one step, and say how far each contribution has to be shortened.

        Contributions are clipped to the clip norm or to what the example can still pay, whichever
        is shorter. The charge counts from now on; with a ledger it is on the disk.

        Parameters
        ----------
        norms
            Of the unclipped contributions of all examples, sampled or not.
        rate
            Probability with which each example takes part: one number, or one for each example.
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
        norms = checked_norms(norms, examples=self.examples)
        rate = self._rates(rate)
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
        if self._participation is not None:
            kept = self._secret.random(self.examples) < self._participation
            factors = np.where(kept, factors, 0.0)
        active = self._remaining > 0
        self._charge(charges)
        return IndividualStep(self._steps, factors, active)

    def _rates(self, given: Any) -> float | FloatArray:
        """Of all examples alike, or of each; what participation leaves of them."""
        rate: float | FloatArray
        if isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given):
            allowed = f"in (0, 1], one number or {self.examples} of them"
            rate = check.vector("rate", given, allowed)
            if rate.shape != (self.examples,) or not (rate.min() > 0 and rate.max() <= 1):
                raise InvalidParameter("rate", allowed, given)
        else:
            rate = check.sampling_rate("rate", given)
        if self._participation is None:
            return rate
        # A product of two positive numbers may underflow; a charge for more is valid.
        return np.maximum(rate * self._participation, SMALLEST_RATE)

    def guarantee(self, *, share: float = 1.0) -> Guarantee:
        """What holds for the run, however the steps are chosen: no example exceeds its budget.

        Parameters
        ----------
        share
            For the examples whose budget is at most this share of the rule's; all by default.

        Returns
        -------
        Guarantee
            For the presence of one such example.
        """
        method = f"individual {self.rule.name} filter"
        note = UNDER_REPORTS if self.kind == "asymptotic" else None
        bound = self.rule.bound_for(check.sampling_rate("share", share))
        analysis = Analysis(method, self.kind, bound)
        return Guarantee((analysis,), find_note=lambda: note)

    def __repr__(self) -> str:
        return (
            f"Individual(rule={self.rule.name!r}, kind={self.kind!r}, examples={self.examples}, "
            f"steps={self.steps})"
        )
