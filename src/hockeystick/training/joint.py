"""JointStatement: several runs on the same data, stated as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial, reduce
from pathlib import Path
from typing import Any, Self

from hockeystick import _validate as check
from hockeystick._text import escaped
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.training.filtered import shared_budget
from hockeystick.training.record import RunRecord, claim_of, guarantee_of, statement
from hockeystick.training.statement_fields import JOINT_FIELDS, checked_fields, read_object
from hockeystick.training.statement_files import StatementFile, read_text
from hockeystick.training.statements import Statement

__all__ = ["JointStatement", "joint_guarantee", "joint_statement", "load_statement"]

# The format of the file, with its version; the first had no signature.
JOINT_FORMAT, UNSIGNED = (f"hockeystick joint privacy statement {n}" for n in (2, 1))


@dataclass(frozen=True, kw_only=True)
class JointStatement(StatementFile):
    """What several runs on the same data guarantee together, and what each of them was.

    Made by `joint_statement`; `check_statement` recomputes its number and those of its runs.

    Attributes
    ----------
    epsilon, delta
        The guarantee of all runs together; epsilon is an upper bound.
    adjacency, unit
        Which data sets are neighbours, and whether an example or a user is protected.
    kind, method, accuracy
        How epsilon is known, and with which settings it was computed.
    runs
        The statement of each run, with its own epsilon at the same delta, as if it were the only
        one.
    note
        A remark of the analysis, or None.
    signature
        Made by `sign`, or None; it binds the statements of the runs as well.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> record = hs.training.RunRecord(
    ...     plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100
    ... )
    >>> stated = hs.training.joint_statement([record, record], delta=1e-5)
    >>> stated.epsilon > max(run.epsilon for run in stated.runs)
    True
    >>> hs.training.JointStatement.from_json(stated.to_json()) == stated
    True
    """

    runs: tuple[Statement, ...]
    note: str | None
    signature: Mapping[str, str] | None = None

    def to_object(self) -> dict[str, Any]:
        """The fields as plain values, the mark of the format first."""
        return {
            "format": JOINT_FORMAT,
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "runs": [run.to_object() for run in self.runs],
        }

    @classmethod
    def from_object(cls, facts: Mapping[str, Any]) -> Self:
        """The statement of these fields, each of them checked.

        Parameters
        ----------
        facts
            What `to_object` returned.
        """
        facts = dict(facts)
        mark = facts.pop("format", None)
        if mark == UNSIGNED and "signature" not in facts:
            facts["signature"] = None
        elif mark != JOINT_FORMAT:
            allowed = f"a JSON object of the format {JOINT_FORMAT!r}"
            raise InvalidParameter("statement", allowed, mark)
        checked = checked_fields(facts, JOINT_FIELDS)
        runs = tuple(Statement.from_object(run) for run in checked["runs"])
        return cls(**{**checked, "runs": runs})

    def paragraph(self) -> str:
        """The statement in words, for a model card; invisible characters are escaped."""
        from hockeystick.training.model_card import joint_paragraph

        return escaped(joint_paragraph(self))


def joint_statement(
    records: Iterable[Any],
    *,
    delta: float,
    accuracy: float = DEFAULT_ACCURACY,
    parameters: Any = None,
    dataset: str | None = None,
) -> JointStatement:
    """What several runs on the same data guarantee together at `delta`.

    The profiles of the runs are composed, in the order of the records, as `account` does for a
    `Sequence`. Every run counts with all its planned steps, or with the whole budget of its filter;
    runs on one budget (the same filter, or the same name in a ledger) count once together.
    Valid if the plans, the noise and the number of runs were fixed before the first one began; a
    later run may go on from what an earlier one released. What was calibrated with `calibrate` for
    a sequence is what is stated.

    Parameters
    ----------
    records
        The runs, or what happened in each of them (`run.record()`): two or more.
    delta
        In (0, 1).
    accuracy
        That of `account`.
    parameters
        The final parameters, for the statement of the last run, as for `statement`; by default
        those that its `run.statement` has, if the last one is a run and not a record.
    dataset
        A fingerprint of the data set of your choice, for the statements of all runs.

    Returns
    -------
    JointStatement
        Epsilon of all runs, and the statement of each of them.

    Raises
    ------
    InvalidParameter
        If there are fewer than two records, they protect different units, or there is no finite
        epsilon at `delta`.
    UnsupportedPlan
        If no analysis applies to one of the plans.

    Examples
    --------
    Two phases on one model, with the noise raised after five of eight steps:

    >>> import numpy as np
    >>> import hockeystick as hs
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> first, second = (hs.Plan(sampling=hs.Poisson(rate=0.1), steps=n) for n in (5, 3))
    >>> sequence = hs.Sequence([(first, 1.0), (second, 1.5)])
    >>> factor = hs.calibrate(sequence, epsilon=3.0, delta=1e-5).noise_multiplier
    >>> model, records = np.zeros(3), []
    >>> for (plan, _), noise in zip(sequence.parts, sequence.noise_multipliers(factor)):
    ...     run = hs.training.PrivateRun(
    ...         plan, examples=100, dimension=3, noise_multiplier=noise, max_grad_norm=1.0
    ...     )
    ...     for _ in range(plan.steps):
    ...         model -= 0.1 * run.step(lambda batch: model - x[batch])
    ...     records.append(run.record())
    >>> stated = hs.training.joint_statement(records, delta=1e-5)
    >>> stated.epsilon <= 3.0, len(stated.runs)
    (True, 2)
    """
    runs = tuple(records)
    given = tuple(one.record() if hasattr(one, "record") else one for one in runs)
    if len(given) < 2 or not all(isinstance(one, RunRecord) for one in given):
        allowed = "two runs or their records (run.record()) or more; `statement` is about one run"
        raise InvalidParameter("records", allowed, given)
    delta = check.small_probability("delta", delta)
    options: dict[str, Any] = {"delta": delta, "accuracy": accuracy, "dataset": dataset}
    *earlier, final = [partial(statement, one) for one in given]
    if hasattr(runs[-1], "statement"):
        final = runs[-1].statement
    last = final(**options, **({} if parameters is None else {"parameters": parameters}))
    return JointStatement(
        **claim_of(
            joint_guarantee(given, accuracy=accuracy),
            delta=delta,
            exact_runs=sum(one.arithmetic == "exact" for one in given),
        ),
        runs=(*(one(**options) for one in earlier), last),
    )


def joint_guarantee(records: Iterable[RunRecord], *, accuracy: float) -> Guarantee:
    """The guarantee of all runs together, each one as `guarantee_of` has it.

    A budget holds for everything that was charged to it, so that the first of several runs on the
    same one counts for all of them.
    """
    counted: dict[object, RunRecord] = {}
    for number, one in enumerate(records):
        counted.setdefault(shared_budget(one.filter) or number, one)
    claims = (guarantee_of(one, accuracy=accuracy) for one in counted.values())
    return reduce(Guarantee.compose, claims)


def load_statement(path: str | Path) -> Statement | JointStatement:
    """Read a statement about one run or about several, whichever is in the file.

    Parameters
    ----------
    path
        A file that `save` wrote.

    Returns
    -------
    Statement or JointStatement
        What the file says that it is.

    Raises
    ------
    InvalidParameter
        If the file cannot be read or is no statement.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.load_statement("no such file")
    Traceback (most recent call last):
        ...
    hockeystick.errors.InvalidParameter: path must be a file that can be read, ...
    """
    facts = read_object(read_text(path))
    if facts.get("format") in (JOINT_FORMAT, UNSIGNED):
        return JointStatement.from_object(facts)
    return Statement.from_object(facts)
