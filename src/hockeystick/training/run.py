"""PrivateRun: the steps of a plan, one at a time, for any loop that can compute gradients."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._process import refuse_setting
from hockeystick.accounting import account, methods
from hockeystick.errors import BudgetExceeded, InvalidParameter, PlanMismatch
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import (
    RandomSource,
    cryptographic_if_secret,
    is_secret,
)
from hockeystick.schemes import Attribution
from hockeystick.strategies.noise import ARITHMETICS
from hockeystick.training.adaptive_clipping import (
    AdaptiveClipping,
    check_adaptive,
    clipping_policy,
)
from hockeystick.training.canaries import RunCanaries
from hockeystick.training.clip_rules import ClipRule, rule_of_vectors
from hockeystick.training.filtered import rate_for_filters, warn_of_unexpected
from hockeystick.training.gradients import Gradients, checked_rows, clipping_rule, probe_gradients
from hockeystick.training.plan_object import require_gaussian
from hockeystick.training.record import RunRecord, statement
from hockeystick.training.run_sources import ChangingRun, RunSources
from hockeystick.training.schedules import Schedule, StepSettings, as_lists, with_step
from hockeystick.training.statement_fields import RUN_DIGITS
from hockeystick.training.statements import Statement

__all__ = ["PrivateRun"]

# The attributes that change from step to step.
COUNTERS = ("_taken", "_intact", "_probe", "_schedule", "_now")


class PrivateRun(ChangingRun):
    """The plan's batches and noise, combined into one private gradient for each step.

    A step clips the gradient of every example in the batch to `max_grad_norm`, sums them, adds the
    plan's noise of standard deviation noise_multiplier * max_grad_norm, and divides by the
    *expected* batch size, which does not depend on who was drawn; an empty batch is noise alone.
    After the planned steps it refuses another one. Batches and noise have generators of their own,
    both from `rng`. Settings cannot be assigned to; with a filter `set` changes them between steps.
    The run works only in the process that made it.

    A filter gives a permit before each step, which may shorten the clip norm of the last one;
    `BudgetExceeded` ends the run. With `Individual` budgets the gradients of all examples are
    computed in each step, and each is clipped to what the budget of its example still allows. In
    both cases the plan is an upper limit of the steps, and the guarantee is the filter's.

    Parameters
    ----------
    plan
        What is run.
    examples
        The number of examples, or for schemes that protect users the graph of examples and users.
    dimension
        The number of parameters, the length of a gradient.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm, or `AdaptiveClipping`.
    filter
        A privacy filter or individual budgets, or None.
    rng
        Where batches and noise come from; by default a secret seed.
    arithmetic
        "float", or "exact": gradients are rounded to a lattice, within the clip norm, and noise
        is an integer multiple of it, so that the guarantee holds to the last bit (docs/exact.md).
        The plan that is run is `plan.exact()`, and generators are cryptographic by default.
    clipping
        "flat", or "automatic" (`Automatic(gamma=)`).
    canaries
        How many canaries `audit` compares with the plan, in coordinates of their own: at least 100,
        or None. A third of them alone, and a crowd of a third, are drawn into batches beside
        the examples. Not with a filter.

    Raises
    ------
    UnsupportedPlan
        If no analysis applies to the plan, or the filter cannot account for it.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5)
    >>> run = hs.training.PrivateRun(
    ...     plan, examples=100, dimension=3, noise_multiplier=1.0, max_grad_norm=1.0
    ... )
    >>> gradient = run.step(lambda batch: x[batch])
    >>> gradient.shape, run.taken_steps
    ((3,), 1)
    """

    what = "The private run"

    @check.known_names_only
    def __init__(
        self,
        plan: Plan,
        *,
        examples: int | Attribution,
        dimension: int,
        noise_multiplier: float,
        max_grad_norm: float | AdaptiveClipping,
        filter: Filter | Individual | None = None,  # noqa: A002 - the word of the interface
        rng: RandomSource = None,
        arithmetic: str = "float",
        clipping: str | ClipRule = "flat",
        canaries: int | None = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        require_gaussian(plan)
        self._arithmetic = check.choice("arithmetic", arithmetic, ARITHMETICS)
        if self._arithmetic == "exact":
            plan, rng = plan.exact(), cryptographic_if_secret(rng)
        self._plan = plan
        self._noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        _, clip, policy = clipping_policy(max_grad_norm, clipping, filter)
        check_adaptive(policy, plan)
        self._dimension = check.positive_integer("dimension", dimension)
        self._parts = rule_of_vectors(clipping, dimension=self._dimension, max_grad_norm=clip)
        self._max_grad_norm = self._parts.max_grad_norm
        if not methods(plan):
            # Refused before the data is touched, with the reason.
            account(plan, noise_multiplier=self._noise_multiplier)
        size: Any = plan.sampling.expected_batch_size(examples)  # type: ignore[arg-type]
        self._examples = examples.examples if isinstance(examples, Attribution) else examples
        self._clipping = clipping_rule(filter, examples=self._examples, gamma=self._parts.gamma)
        self._now = StepSettings(
            self._noise_multiplier,
            self._max_grad_norm,
            None if filter is None else rate_for_filters(plan),
            None
            if policy is None
            else policy.noise_of_count(
                expected_batch_size=size, noise_multiplier=self._noise_multiplier
            ),
        )
        warn_of_unexpected(filter, rate=self._now.rate, noise_multiplier=self._noise_multiplier)
        self._seeded = not is_secret(rng)
        self._sources = RunSources(
            plan,
            examples=examples,
            dimension=self._dimension,
            settings=self._now,
            policy=policy,
            arithmetic=self._arithmetic,
            rng=rng,
            canaries=RunCanaries.of(
                canaries,
                plan,
                examples=self._examples,
                noise_multiplier=self._noise_multiplier,
                max_grad_norm=self._max_grad_norm,
                constant=filter is None and policy is None,
            ),
        )
        self._noise = self._sources.noise
        self._taken = 0
        self._intact = True
        self._probe: dict[str, object] | None = None
        self._run_id = secrets.token_hex(RUN_DIGITS // 2)
        self._schedule: Schedule = ()

    @property
    def plan(self) -> Plan:
        """What is run."""
        return self._plan

    @property
    def arithmetic(self) -> str:
        """How sums and noise are computed: "float" or "exact"."""
        return self._arithmetic

    def __setattr__(self, name: str, value: Any) -> None:
        """Attributes are set once; only the counters of steps change."""
        if name in COUNTERS or (name.startswith("_") and name not in vars(self)):
            object.__setattr__(self, name, value)
        else:
            refuse_setting(self, name, value)

    def step(self, gradients: Gradients) -> FloatArray:
        """The private mean gradient of the next batch.

        Parameters
        ----------
        gradients
            From the indices of examples to a row for each of them, the gradient of that example
            alone, or to the `OuterProducts` of a linear layer; in the first step that is probed,
            with a few more calls. After an error in it the run is over: its batch is used up.

        Returns
        -------
        numpy.ndarray
            The noisy sum over the expected batch size.

        Raises
        ------
        PlanMismatch
            After the last planned step, after an interrupted one, and if examples influence each
            other.
        BudgetExceeded
            If the filter permits no further step.
        """
        self._check_open()
        self._intact = False
        try:
            sum_of, clip = self._clipping.permit(self._now, self._sources.lattice)
        except BudgetExceeded:
            # Nothing was drawn: the run is as it was.
            self._intact = True
            raise
        rows_of = partial(checked_rows, gradients=gradients, dimension=self._dimension)
        batch, now, size = self._sources.batch(), self._now, self.expected_batch_size
        if self._probe is None:
            self._probe = probe_gradients(rows_of, batch, step=self._taken + 1)
        found = sum_of(batch, rows_of)
        noisy = self._sources.released(found)
        self._taken += 1
        self._schedule = with_step(self._schedule, now, clip)
        if clip == now.max_grad_norm:
            # A step that the filter has shortened releases no count.
            self._now = self._sources.adapted(now, found)
        self._intact = True
        return noisy / size

    def record(self) -> RunRecord:
        """What happened so far."""
        return RunRecord(
            plan=self._plan,
            noise_multiplier=self._noise_multiplier,
            max_grad_norm=self._max_grad_norm,
            taken_steps=self._taken,
            filter=self._clipping.filter_description,
            seeded=self._seeded or self._noise.seeded,
            probe=self._probe,
            examples=self._examples,
            run_id=self._run_id,
            taken_schedule=as_lists(self._schedule),
            arithmetic=self._arithmetic,
            clipping=self._parts.described,
        )

    def statement(self, *, delta: float, **options: Any) -> Statement:
        """The privacy statement of the run.

        Parameters
        ----------
        delta
            In (0, 1).
        options
            Those of `statement`.
        """
        return statement(self.record(), delta=delta, **options)

    def _check_open(self) -> None:
        self.check_here()
        if not self._intact:
            raise PlanMismatch(
                f"Step {self._taken + 1} of the run was interrupted; its batch and noise are not "
                "what was accounted any more: start a new run, which composes with this one.",
                page="docs/stopping.md#two-phases",
            )
        if self._taken >= self._plan.steps:
            raise PlanMismatch(
                f"The plan has {self._plan.steps} steps, and all of them are taken; a further one "
                "is not accounted: a second run composes with this one.",
                page="docs/stopping.md#train-longer",
            )
