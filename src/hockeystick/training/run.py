"""PrivateRun: the steps of a plan, one at a time, for any loop that can compute gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._process import SingleUse
from hockeystick.accounting.account import account, methods
from hockeystick.errors import BudgetExceeded, InvalidParameter, PlanMismatch, shown
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generators, is_secret
from hockeystick.schemes import Attribution
from hockeystick.training.governed import Gradients, checked_rows, governor_of
from hockeystick.training.independence import probe_gradients
from hockeystick.training.plan_object import require_gaussian
from hockeystick.training.record import RunRecord
from hockeystick.training.stated import Statement
from hockeystick.training.statement import statement

__all__ = ["PrivateRun"]

# What changes from step to step.
COUNTERS = ("_taken", "_intact", "_probe")


class PrivateRun(SingleUse):
    """The plan's batches and noise, handed out together as one private gradient for each step.

    A step clips the gradient of every example in the batch to `max_grad_norm`, sums them, adds the
    plan's noise of standard deviation noise_multiplier * max_grad_norm, and divides by the
    *expected* batch size, which does not depend on who was drawn; an empty batch is noise alone.
    After the planned steps it refuses to go on. Batches and noise have generators of their own,
    both from `rng`. Settings cannot change during the run (`PlanMismatch`), and it works only in
    the process that made it.

    A `filter` is asked for a permit before each step, which may shorten the clip norm of the last
    one; `BudgetExceeded` ends the run. With `Individual` budgets the gradients of all examples are
    computed in each step, and each is shortened to what its example can still pay. In both cases
    the plan is an upper limit of the steps, and the guarantee is the filter's.
    """

    what = "The private run"

    def __init__(
        self,
        plan: Plan,
        *,
        examples: int | Attribution,
        dimension: int,
        noise_multiplier: float,
        max_grad_norm: float,
        filter: Filter | Individual | None = None,  # noqa: A002 - the word of the interface
        rng: RandomSource = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        require_gaussian(plan)
        self._plan = plan
        self._noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        self._max_grad_norm = check.positive("max_grad_norm", max_grad_norm)
        self._dimension = check.positive_integer("dimension", dimension)
        if not methods(plan):
            # Refused before the data is touched, with the reason.
            account(plan, noise_multiplier=self._noise_multiplier)
        size: Any = plan.sampling.expected_batch_size(examples)  # type: ignore[arg-type]
        self._expected_batch_size = float(size)
        self._governor = governor_of(
            filter,
            plan,
            examples=examples.examples if isinstance(examples, Attribution) else examples,
            noise_multiplier=self._noise_multiplier,
            max_grad_norm=self._max_grad_norm,
        )
        self._seeded = not is_secret(rng)
        # Of a generator that is given there is only one, from which both draw.
        of_noise, *others = generators(rng, 2) if self._seeded else (rng, rng)
        self._batches = plan.batches(examples=examples, rng=others[0] if others else of_noise)
        self._noise = plan.noise(
            self._dimension,
            scale=self._noise_multiplier * self._max_grad_norm,
            dtype=np.float64,
            rng=of_noise,
        )
        self._taken = 0
        self._intact = True
        self._probe: dict[str, object] | None = None

    @property
    def plan(self) -> Plan:
        """What is run."""
        return self._plan

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._noise_multiplier

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._max_grad_norm

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._taken

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._expected_batch_size

    def __setattr__(self, name: str, value: Any) -> None:
        """The run sets its parts once, and counts its steps; nothing else changes."""
        if name in COUNTERS or (name.startswith("_") and name not in vars(self)):
            object.__setattr__(self, name, value)
        elif hasattr(self, name):
            raise PlanMismatch(
                f"{name.lstrip('_')} cannot change during a run: what was accounted is "
                f"{shown(getattr(self, name))}, got {shown(value)}."
            )
        else:
            raise PlanMismatch(f"A private run has no setting {name}; nothing in it can be set.")

    def step(self, gradients: Gradients) -> FloatArray:
        """The private mean gradient of the next batch.

        `gradients` gets the indices of examples and returns a row for each of them, the gradient of
        that example alone; in the first step that is probed (`probe_gradients`), with a few more
        calls. After an error in it the run is over: its batch is used up.
        """
        self._check_open()
        self._intact = False
        try:
            sum_of = self._governor.permit()
        except BudgetExceeded:
            # Nothing was drawn: the run stands where it was.
            self._intact = True
            raise
        rows_of = partial(checked_rows, gradients=gradients, dimension=self._dimension)
        batch = next(self._batches)
        if self._probe is None:
            self._probe = probe_gradients(rows_of, batch, step=self._taken + 1)
        noisy: FloatArray = sum_of(batch, rows_of) + next(self._noise)
        self._taken += 1
        self._intact = True
        return noisy / self._expected_batch_size

    def record(self) -> RunRecord:
        """What happened so far."""
        return RunRecord(
            plan=self._plan,
            noise_multiplier=self._noise_multiplier,
            max_grad_norm=self._max_grad_norm,
            taken_steps=self._taken,
            filter=self._governor.described,
            seeded=self._seeded or self._noise.seeded,
            probe=self._probe,
        )

    def statement(self, *, delta: float, **options: Any) -> Statement:
        """The privacy statement of the run; options are those of `statement`."""
        return statement(self.record(), delta=delta, **options)

    def _check_open(self) -> None:
        self.check_here()
        if not self._intact:
            raise PlanMismatch(
                f"Step {self._taken + 1} of the run was interrupted; its batch and noise are not "
                "what was accounted any more."
            )
        if self._taken >= self._plan.steps:
            raise PlanMismatch(
                f"The plan has {self._plan.steps} steps, and all of them are taken; a further one "
                "is not accounted."
            )
