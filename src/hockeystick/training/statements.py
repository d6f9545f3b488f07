"""Statement: a privacy statement as a value, a JSON file and a paragraph, with checked fields.

Its schedule has to be one that its plan, or its filter, allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

from hockeystick._text import escaped
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters import Filter
from hockeystick.plan import Plan
from hockeystick.training.filtered import filter_of, rate_for_filters
from hockeystick.training.plan_object import plan_from
from hockeystick.training.schedules import Schedule, from_lists
from hockeystick.training.statement_fields import FIELDS, checked_fields
from hockeystick.training.statement_files import StatementFile

__all__ = ["FILTER", "FORMAT", "PLAN", "Statement", "impossible_schedule"]

# The format of the file, with its version.
FORMAT = "hockeystick privacy statement 3"
# What earlier versions did not have, and what stands for it.
NEW: dict[str, Any] = {
    "examples": None,
    "run_id": None,
    "parameters": None,
    "dataset": None,
    "taken_schedule": None,
    "arithmetic": "float",
    "whole_steps": None,
    "clipping": {"clipping": "flat"},
    "signature": None,
}
EARLIER: dict[str, dict[str, Any]] = {
    "hockeystick privacy statement 2": NEW,
    "hockeystick privacy statement 1": {**NEW, "probe": None},
}
# What epsilon accounts for.
PLAN, FILTER = "all planned steps", "the whole budget of the filter"


@dataclass(frozen=True, kw_only=True)
class Statement(StatementFile):
    """What a run guarantees: (epsilon, delta), about whom, how it is known, and what was run.

    Made by `statement` or `run.statement`; `check_statement` recomputes its number.

    Attributes
    ----------
    epsilon, delta
        The guarantee; epsilon is an upper bound.
    adjacency, unit
        Which data sets are neighbours, and whether an example or a user is protected.
    kind, method, accuracy
        How epsilon is known, and with which settings it was computed.
    priced_for
        What epsilon accounts for: all planned steps, or the whole budget of a filter. In both cases
        it does not depend on `taken_steps`.
    scheme, strategy
        The sampling scheme and the strategy as plain values, from which `plan` is built again.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm.
    planned_steps, taken_steps
        The steps of the plan, and those that were taken.
    filter
        The filter as plain values, or None.
    seeded
        Whether the caller knows the seed of batches or noise.
    probe
        What the independence probe found; None if none was run.
    note
        A remark of the analysis, or None.
    versions
        The versions of the software that ran.
    examples
        How many examples the data set had.
    run_id
        A random number of the run, also of what continues it.
    parameters
        SHA-256 of the final parameters, as `fingerprint` computes it.
    dataset
        A fingerprint of the data set, of the user's choice.
    taken_schedule
        The steps that were taken, in their order: [steps, noise multiplier, clip norm], with a
        filter also their rate, and with adaptive clipping the noise of the count.
    arithmetic
        "float", or "exact" for noise and sums in integers.
    whole_steps
        If this is about a checkpoint: the steps of the whole run, of which `planned_steps` are the
        first. Their number was fixed in advance, and nothing that came later was released.
    clipping
        How gradients were shortened, as plain values: {"clipping": "flat"}, or "automatic" with its
        "gamma", or "per-layer" with "norms", the root of whose squares is at most `max_grad_norm`.
    signature
        Made by `sign`, or None.
    risk
        Bounds for every attack on one example, if they were asked for: "advantage",
        "true_positive_rate" at the "false_positive_rate", "bayes_risk" at the "prior".

    The last ten are None, "float" and flat where they are not known.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> record = hs.training.RunRecord(
    ...     plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100
    ... )
    >>> stated = hs.training.statement(record, delta=1e-5)
    >>> stated.kind, stated.priced_for
    ('proven', 'all planned steps')
    >>> hs.training.Statement.from_json(stated.to_json()) == stated
    True
    """

    priced_for: str
    scheme: Mapping[str, Any]
    strategy: Mapping[str, Any]
    noise_multiplier: float
    max_grad_norm: float
    planned_steps: int
    taken_steps: int
    filter: Mapping[str, Any] | None
    seeded: bool
    probe: Mapping[str, Any] | None
    note: str | None
    versions: Mapping[str, str]
    examples: int | None = None
    run_id: str | None = None
    parameters: str | None = None
    dataset: str | None = None
    taken_schedule: Sequence[Sequence[float]] | None = None
    arithmetic: str = "float"
    whole_steps: int | None = None
    clipping: Mapping[str, Any] = field(default_factory=lambda: {"clipping": "flat"})
    signature: Mapping[str, str] | None = None
    risk: Mapping[str, float] | None = None

    @cached_property
    def plan(self) -> Plan:
        """The plan that was run, built again; `InvalidParameter` if the fields describe none."""
        return plan_from(
            scheme=self.scheme,
            strategy=self.strategy,
            steps=self.planned_steps,
            adjacency=self.adjacency,
            examples=self.examples,
        )

    @property
    def runs(self) -> tuple[Statement, ...]:
        """The statement itself; a `JointStatement` has several."""
        return (self,)

    def to_object(self) -> dict[str, Any]:
        """The fields as plain values, the mark of the format first; no risk if none is stated."""
        facts = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.risk is None:
            del facts["risk"]
        return {"format": FORMAT, **facts}

    @classmethod
    def from_object(cls, facts: Mapping[str, Any]) -> Self:
        """The statement of these fields, each of them checked.

        Parameters
        ----------
        facts
            What `to_object` returned; files of the earlier versions as well.
        """
        facts = dict(facts)
        mark = facts.pop("format", None)
        missing = EARLIER.get(mark) if isinstance(mark, str) else None
        if missing is not None and not set(missing) & set(facts):
            facts |= missing
        elif mark != FORMAT:
            raise InvalidParameter("statement", f"a JSON object of the format {FORMAT!r}", mark)
        return cls(**checked_fields({"risk": None, **facts}, FIELDS))

    def paragraph(self) -> str:
        """The statement in words, for a model card; invisible characters are escaped."""
        from hockeystick.training.model_card import paragraph

        return escaped(paragraph(self))


# How far a step may be shortened where the schedule says that it was not: another machine rounds
# charges differently.
ROUNDING = 1e-6


def impossible_schedule(statement: Statement) -> Iterator[str]:
    """Steps that were not taken, and other settings than the plan's without a filter."""
    if statement.taken_schedule is None:
        return
    schedule = from_lists(statement.taken_schedule)
    taken = sum(part.steps for part in schedule)
    if taken != statement.taken_steps:
        yield f"taken_schedule has {taken} steps, but {statement.taken_steps} are taken"
    if statement.filter is not None:
        yield from _unpermitted(statement, statement.filter, schedule)
        return
    for part in schedule:
        noise, clip = part.noise_multiplier, part.clip_norm
        # Noise is a multiple of the clip norm, so that it may follow released counts.
        adapted = part.count_noise is not None and not statement.plan.correlated
        if noise != statement.noise_multiplier:
            yield f"steps with noise multiplier {noise:g} need a filter that permits them"
        elif clip != statement.max_grad_norm and not adapted:
            yield f"steps with the clip norm {clip:g} need a filter that permits them"
        if part.rate is not None:
            yield f"steps with the rate {part.rate:g} of their own need a filter"


def _unpermitted(
    statement: Statement, described: Mapping[str, Any], schedule: Schedule
) -> Iterator[str]:
    """Steps that a new filter of this description does not permit, in their order.

    Budgets of single examples permit every step.
    """
    found = filter_of(described)
    if not isinstance(found, Filter):
        return
    number, planned = 0, rate_for_filters(statement.plan)
    for part in schedule:
        rate, noise = part.rate, part.noise_multiplier
        if rate is None:
            # Files of earlier versions: the noise is a multiple of the clip norm at the start.
            rate, noise = planned, noise * statement.max_grad_norm / part.clip_norm
        for _ in range(part.steps):
            number += 1
            try:
                permit = found.request(rate=rate, noise_multiplier=noise)
            except BudgetExceeded:
                yield f"the filter permits {number - 1} steps of taken_schedule and no more"
                return
            if not permit.clip_scale >= 1 - ROUNDING:
                yield f"step {number} of taken_schedule is more than the filter permits"
                return
