"""The privacy statement: what a run guarantees, from what really happened."""

from __future__ import annotations

import math
from typing import Any

from hockeystick import _validate as check
from hockeystick.accounting.account import account
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo.settings import MonteCarlo
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.training.filtered import filter_guarantee, rate_for_filters
from hockeystick.training.plan_object import require_gaussian, sampling_object, strategy_object
from hockeystick.training.record import RunRecord
from hockeystick.training.stated import FILTER, PLAN, Statement, plain

__all__ = ["priced", "statement"]


def statement(
    record: RunRecord,
    *,
    delta: float,
    method: str = "auto",
    accuracy: float = DEFAULT_ACCURACY,
    guarantee: Guarantee | None = None,
) -> Statement:
    """What the run guarantees at `delta`, with everything from which it can be recomputed.

    The price is that of the *planned* steps: stopping early because of what was seen buys nothing.
    If a filter governed the run the price is the filter's whole budget instead, however many steps
    were taken, with the filter's kind. `method` and `accuracy` are those of `account`. `guarantee`
    takes the place of `account` for a claim that was verified before the run (`verify`, or
    `calibrate` with the method "monte-carlo"); it has to be about the same plan and noise.
    """
    if not isinstance(record, RunRecord):
        raise InvalidParameter("record", "a RunRecord", record)
    delta = check.small_probability("delta", delta)
    if guarantee is None:
        guarantee = priced(record, method=method, accuracy=accuracy)
    else:
        _check_about(guarantee, record)
    answer = guarantee.answer(delta=delta)
    if not math.isfinite(answer.value):
        allowed = "a delta at which the run has a finite epsilon"
        raise InvalidParameter("delta", allowed, delta)
    note = answer.details.get("note")
    return Statement(
        epsilon=float(answer.value),
        delta=delta,
        adjacency=guarantee.adjacency,
        unit=guarantee.unit,
        kind=answer.kind,
        method=answer.method,
        accuracy=guarantee.accuracy,
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
        note=None if note is None else str(note),
        versions=plain(dict(record.versions)),
    )


def priced(
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
        raise InvalidParameter("method", "left out for a run that a filter governed", method)
    rate_for_filters(record.plan)
    return filter_guarantee(record.filter)


def _check_about(guarantee: Guarantee, record: RunRecord) -> None:
    """The guarantee is about this plan with this noise, and about both directions."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter("guarantee", "a Guarantee", guarantee)
    require_gaussian(record.plan)
    if record.filter is not None:
        raise InvalidParameter("guarantee", "None for a run that a filter governed", guarantee)
    drawn = all(one.method == MonteCarlo.name for one in guarantee.analyses)
    if not drawn or guarantee.kind == "confidence":
        allowed = "None unless a claim was verified by draws; `account` is asked here"
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
