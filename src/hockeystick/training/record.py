"""RunRecord: what happened in a run, and the privacy statement that follows from it."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo import MonteCarlo
from hockeystick.plan import Plan
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.training.filtered import filter_guarantee, rate_for_filters
from hockeystick.training.fingerprints import fingerprint, versions_of
from hockeystick.training.plan_object import require_gaussian, sampling_object, strategy_object
from hockeystick.training.stated_risk import risk_of
from hockeystick.training.statement_fields import FIELDS, checked_text, plain
from hockeystick.training.statements import FILTER, PLAN, Statement
from hockeystick.training.sum_lattice import answer_of

__all__ = ["RunRecord", "claim_of", "guarantee_of", "statement", "versions_of"]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run that has ended, or stands still: the plan, its noise, and the steps that were taken.

    Parameters
    ----------
    plan
        What was run.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm. With a filter these are
        the settings at the start; steps may have had others.
    taken_steps
        How many steps were taken, at most those of the plan.
    filter
        What `describe_filter` says about the filter of the run, or None. The records of runs also
        have the number of its budget, "budget_id", which runs that share it have in common.
    seeded
        Whether batches and noise came from a seed or generator of the caller, which then has to be
        as secret as the data.
    probe
        What the independence probe found, or None if none was run.
    versions
        Those of the software that ran.
    examples
        How many examples there were, or None if that is not to be stated.
    run_id
        A random number of the run (32 hexadecimal digits), or None.
    taken_schedule
        The steps that were taken: [steps, noise multiplier, clip norm] in their order, or None.
    arithmetic
        "float", or "exact" for noise and sums in integers (docs/exact.md).
    whole_steps
        Of a checkpoint the steps of the whole run, of which `plan` has the first; else None.
    clipping
        The rule as plain values: {"clipping": "flat"}, "automatic" with its "gamma", or "per-layer"
        with the "norms" of the layers.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> record = hs.training.RunRecord(
    ...     plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100
    ... )
    >>> record.planned_steps
    100
    """

    plan: Plan
    noise_multiplier: float
    max_grad_norm: float
    taken_steps: int
    filter: Mapping[str, object] | None = None
    seeded: bool = False
    probe: Mapping[str, object] | None = None
    versions: Mapping[str, str] = field(default_factory=versions_of)
    examples: int | None = None
    run_id: str | None = None
    taken_schedule: Sequence[Sequence[float]] | None = None
    arithmetic: str = "float"
    whole_steps: int | None = None
    clipping: Mapping[str, Any] = field(default_factory=lambda: {"clipping": "flat"})

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise InvalidParameter("plan", "a Plan", self.plan)
        for name in ("noise_multiplier", "max_grad_norm"):
            object.__setattr__(self, name, check.positive(name, getattr(self, name)))
        object.__setattr__(self, "taken_steps", _steps_within(self.taken_steps, self.plan.steps))
        object.__setattr__(self, "seeded", check.boolean("seeded", self.seeded))
        names = ("examples", "run_id", "taken_schedule", "arithmetic", "whole_steps", "clipping")
        for name in names:
            object.__setattr__(self, name, FIELDS[name](name, getattr(self, name)))

    @property
    def planned_steps(self) -> int:
        """The steps of the plan, all of which count for a run without a filter."""
        return self.plan.steps


def _steps_within(taken: int, planned: int) -> int:
    """An integer between 0 and the number of planned steps."""
    allowed = f"an integer in [0, {planned}], the planned steps"
    try:
        number = operator.index(taken)
    except TypeError:
        raise InvalidParameter("taken_steps", allowed, taken) from None
    if isinstance(taken, bool) or not 0 <= number <= planned:
        raise InvalidParameter("taken_steps", allowed, taken)
    return number


def statement(
    record: RunRecord,
    *,
    delta: float,
    method: str = "auto",
    accuracy: float = DEFAULT_ACCURACY,
    guarantee: Guarantee | None = None,
    parameters: Any = None,
    dataset: str | None = None,
    checkpoint: int | None = None,
    risk: bool = False,
) -> Statement:
    """What the run guarantees at `delta`, with everything from which it can be recomputed.

    Epsilon accounts for the *planned* steps: stopping early because of what was seen saves nothing.
    If the run had a filter, epsilon is that of the filter's whole budget instead, however many
    steps were taken, with the filter's kind.

    Parameters
    ----------
    record
        What happened in the run.
    delta
        In (0, 1).
    method, accuracy
        Those of `account`.
    guarantee
        Takes the place of `account` for a claim that was verified before the run (`verify`, or
        `calibrate` with the method "monte-carlo"); it has to be about the same plan and noise.
    parameters
        The final parameters, of which the statement has the `fingerprint`; or that fingerprint.
    dataset
        A fingerprint of the data set of your choice, such as that of its file.
    checkpoint
        The steps that are taken, if their number was fixed before the run, and nothing of the run
        is released but the model after them: epsilon is then that of the first steps.
    risk
        Whether to state what attacks on one example can achieve, too; a few more numbers.

    Returns
    -------
    Statement
        Epsilon, and every field from which it can be recomputed.

    Raises
    ------
    InvalidParameter
        If the run has no finite epsilon at `delta`, or the guarantee is about something else.
    UnsupportedPlan
        If no analysis applies to the plan.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> record = hs.training.RunRecord(
    ...     plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100
    ... )
    >>> print(f"{hs.training.statement(record, delta=1e-5).epsilon:.3f}")
    0.718
    """
    if not isinstance(record, RunRecord):
        raise InvalidParameter("record", "a RunRecord", record)
    delta = check.small_probability("delta", delta)
    if checkpoint is not None:
        record = at_checkpoint(record, checkpoint)
    if guarantee is None:
        guarantee = guarantee_of(record, method=method, accuracy=accuracy)
    else:
        _check_about(guarantee, record)
    exact_runs = int(record.arithmetic == "exact")
    stated_risk = None
    if check.boolean("risk", risk):
        stated_risk = risk_of(guarantee, exact_runs=exact_runs)
    return Statement(
        **claim_of(guarantee, delta=delta, exact_runs=exact_runs),
        priced_for=PLAN if record.filter is None else FILTER,
        scheme=plain(sampling_object(record.plan.sampling)),
        strategy=plain(strategy_object(record.plan.strategy)),
        noise_multiplier=record.noise_multiplier,
        max_grad_norm=record.max_grad_norm,
        planned_steps=record.planned_steps,
        taken_steps=record.taken_steps,
        filter=None if record.filter is None else plain(dict(record.filter)),
        seeded=record.seeded,
        probe=None if record.probe is None else plain(dict(record.probe)),
        versions=plain(dict(record.versions)),
        examples=record.examples,
        run_id=record.run_id,
        parameters=None if parameters is None else fingerprint(parameters),
        dataset=None if dataset is None else checked_text("dataset", dataset),
        taken_schedule=None if record.taken_schedule is None else plain(record.taken_schedule),
        arithmetic=record.arithmetic,
        whole_steps=record.whole_steps,
        clipping=plain(dict(record.clipping)),
        risk=stated_risk,
    )


def at_checkpoint(record: RunRecord, steps: int) -> RunRecord:
    """The record of a run whose plan is the first steps of this one's."""
    if record.filter is not None:
        allowed = "left out for a run with a filter: its budget is the claim, wherever it stops"
        raise InvalidParameter("checkpoint", allowed, steps)
    if steps != record.taken_steps or not record.taken_steps:
        allowed = f"the steps that are taken, {record.taken_steps}: state a checkpoint when it is"
        raise InvalidParameter("checkpoint", allowed, steps)
    first = record.plan.prefix(steps)
    return replace(record, plan=first, whole_steps=record.whole_steps or record.plan.steps)


def claim_of(guarantee: Guarantee, *, delta: float, exact_runs: int = 0) -> dict[str, Any]:
    """The fields of a statement that follow from the guarantee alone."""
    answer = answer_of(guarantee, delta=delta, exact_runs=exact_runs)
    if not math.isfinite(answer.value):
        allowed = "a delta at which there is a finite epsilon"
        raise InvalidParameter("delta", allowed, delta)
    note = answer.details.get("note")
    return {
        "epsilon": float(answer.value),
        "delta": delta,
        "adjacency": guarantee.adjacency,
        "unit": guarantee.unit,
        "kind": answer.kind,
        "method": answer.method,
        "accuracy": guarantee.accuracy,
        "note": None if note is None else str(note),
    }


def guarantee_of(
    record: RunRecord, *, method: str = "auto", accuracy: float = DEFAULT_ACCURACY
) -> Guarantee:
    """The guarantee of the run: of its filter if it had one, otherwise of the whole plan."""
    require_gaussian(record.plan)
    if record.filter is None:
        return account(
            record.plan,
            noise_multiplier=record.noise_multiplier,
            method=method,
            accuracy=accuracy,
        )
    if method != "auto":
        raise InvalidParameter("method", "left out for a run with a filter", method)
    rate_for_filters(record.plan)
    return filter_guarantee(record.filter)


def _check_about(guarantee: Guarantee, record: RunRecord) -> None:
    """The guarantee is about this plan with this noise, and about both directions."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter("guarantee", "a Guarantee", guarantee)
    require_gaussian(record.plan)
    if record.filter is not None:
        raise InvalidParameter("guarantee", "None for a run with a filter", guarantee)
    drawn = all(one.method == MonteCarlo.name for one in guarantee.analyses)
    if not drawn or guarantee.kind == "confidence":
        allowed = "None unless a claim was verified by draws; everything else is accounted here"
        raise InvalidParameter("guarantee", allowed, guarantee)
    described: dict[str, Any] = record.plan.describe()
    # A description by name and parameters has to determine the matrix.
    vague = described["strategy"]["factorization"] in ("matrix", "coefficients")
    if vague or "workload" in described["strategy"]:
        allowed = "None for a strategy that its name and parameters do not determine"
        raise InvalidParameter("guarantee", allowed, guarantee)
    wanted = {**described, "noise_multiplier": record.noise_multiplier}
    if guarantee.plans != (wanted,) or len(guarantee.directions) != 2:
        allowed = "about both directions of the recorded plan and noise"
        raise InvalidParameter("guarantee", allowed, guarantee.plans)
