"""Checking a privacy statement: its fields are consistent, and its number is right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from hockeystick.analyses import METHODS
from hockeystick.errors import HockeystickError, PrecisionError, VerificationFailed
from hockeystick.guarantee import KINDS, Answer, Guarantee, Kind
from hockeystick.montecarlo import MonteCarlo
from hockeystick.montecarlo.verify import verify
from hockeystick.training.coverage import Coverage, coverage_of, unexpected
from hockeystick.training.joint import JointStatement, joint_guarantee
from hockeystick.training.plan_object import digest_of, mislabelled, runs_exactly
from hockeystick.training.record import RunRecord, guarantee_of
from hockeystick.training.stated_risk import risk_problems
from hockeystick.training.statements import FILTER, PLAN, Statement, impossible_schedule
from hockeystick.training.sum_lattice import answer_of

__all__ = ["Recheck", "check_statement"]

# How far, relatively, a stated epsilon may be below the recomputed one: bounds are rounded outwards
# by less, and another machine rounds differently.
ROUNDING = 1e-6
# The same of the root of the sum of squared norms, in double precision.
ROUNDING_OF_NORMS = 1e-12
# The largest relative change with which a probe passes, in any precision: TOLERANCE of
# training/gradients.py and torch/probe.py.
LARGEST_CHANGE = 1e-4
# What absurd fields lead to: refusals, and arithmetic at the ends of floating point.
NOTHING_COMPUTED = (HockeystickError, ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Recheck:
    """The result of recomputing a statement.

    Attributes
    ----------
    epsilon, kind, method
        The recomputed ones; None if nothing could be computed.
    problems
        The reasons why the statement does not hold.
    coverage
        Which fields were checked and how, and which were not.
    """

    epsilon: float | None
    kind: Kind | None
    method: str | None
    problems: tuple[str, ...]
    coverage: Coverage

    @property
    def holds(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def check_statement(
    statement: Statement | JointStatement,
    *,
    key: Any = None,
    expect: Mapping[str, Any] = MappingProxyType({}),
) -> Recheck:
    """Recompute the statement's epsilon from its fields, and find fields that contradict it.

    It does not hold if its epsilon is below the recomputed one beyond rounding (relatively 1e-6),
    if its kind is stronger than the recomputed one, or if two of its fields disagree. A larger
    epsilon holds: it claims less. A claim that was verified by draws is verified again, with new
    draws; a true claim close to the verifier's threshold can fail then. Of a joint statement the
    statement of each run is checked as well. Whether the fields are what really happened cannot be
    seen from the file: `coverage` says which ones were checked, and how.

    Parameters
    ----------
    statement
        The statement to check, about one run or about several.
    key
        The signer's public key, as for `Statement.signature_problem`: the statement must be signed
        with it. Without one a signature is not checked.
    expect
        Values that fields must have, such as {"dataset": ..., "parameters": ...}.

    Returns
    -------
    Recheck
        The recomputed epsilon, and the problems that were found.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> record = hs.training.RunRecord(
    ...     plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=100
    ... )
    >>> stated = hs.training.statement(record, delta=1e-5)
    >>> hs.training.check_statement(stated).holds
    True
    """
    signature = "absent" if statement.signature is None else "not checked"
    problems = list(unexpected(statement, expect))
    if key is not None:
        problem = statement.signature_problem(key)
        if signature != "absent":
            signature = "valid" if problem is None else "invalid"
        problems += [] if problem is None else [f"signature: {problem}"]
    covered = coverage_of(statement, expect=expect, signature=signature)
    found = _recomputed(statement)
    return Recheck(found.epsilon, found.kind, found.method, (*problems, *found.problems), covered)


class _Recomputed(NamedTuple):
    """What comes out, and the problems with it."""

    epsilon: float | None
    kind: Kind | None
    method: str | None
    problems: tuple[str, ...]


def _recomputed(statement: Statement | JointStatement) -> _Recomputed:
    try:
        if isinstance(statement, JointStatement):
            return _check_joint(statement)
        return _check_single(statement)
    except VerificationFailed as error:
        return _Recomputed(None, None, MonteCarlo.name, (str(error),))
    except NOTHING_COMPUTED as error:
        return _Recomputed(None, None, None, (f"nothing can be computed: {error}",))


def _check_single(statement: Statement) -> _Recomputed:
    record = _record(statement)
    problems = list(_contradictions(statement))
    guarantee = _guarantee(statement, record)
    if statement.risk is not None:
        problems += risk_problems(statement.risk, guarantee, exact_runs=_exact_runs(statement))
    return _compared(statement, guarantee, problems)


def _check_joint(statement: JointStatement) -> _Recomputed:
    """Each run by itself, and the composition of all of them."""
    problems = []
    for number, run in enumerate(statement.runs, start=1):
        found = list(_recomputed(run).problems)
        if run.delta != statement.delta:
            found.append(f"its delta {run.delta:g} must be {statement.delta:g}")
        problems += [f"run {number}: {problem}" for problem in found]
    records = [_record(run) for run in statement.runs]
    guarantee = joint_guarantee(records, accuracy=statement.accuracy)
    return _compared(statement, guarantee, problems)


def _compared(
    statement: Statement | JointStatement, guarantee: Guarantee, problems: list[str]
) -> _Recomputed:
    """With the differences from the recomputed guarantee."""
    answer = answer_of(guarantee, delta=statement.delta, exact_runs=_exact_runs(statement))
    problems = [*problems, *_differences(statement, guarantee, answer)]
    return _Recomputed(float(answer.value), answer.kind, answer.method, tuple(problems))


def _exact_runs(statement: Statement | JointStatement) -> int:
    return sum(run.arithmetic == "exact" for run in statement.runs)


def _record(statement: Statement) -> RunRecord:
    """What determines the guarantee of the run."""
    return RunRecord(
        plan=statement.plan,
        noise_multiplier=statement.noise_multiplier,
        max_grad_norm=statement.max_grad_norm,
        taken_steps=statement.taken_steps,
        filter=statement.filter,
    )


def _guarantee(statement: Statement, record: RunRecord) -> Guarantee:
    """A claim that was verified is verified again; everything else is computed."""
    if statement.method == MonteCarlo.name and statement.filter is None:
        return verify(
            record.plan,
            noise_multiplier=statement.noise_multiplier,
            epsilon=statement.epsilon,
            delta=statement.delta,
        )
    if statement.method in METHODS and statement.filter is None:
        named = guarantee_of(record, method=statement.method, accuracy=statement.accuracy)
        try:
            answer_of(named, delta=statement.delta, exact_runs=_exact_runs(statement))
        except PrecisionError:
            # An analysis that misses its accuracy still decides where another one reaches it.
            pass
        else:
            return named
    return guarantee_of(record, accuracy=statement.accuracy)


def _contradictions(statement: Statement) -> Iterator[str]:
    """Fields that contradict each other, without computing epsilon."""
    wanted = PLAN if statement.filter is None else FILTER
    if statement.priced_for != wanted:
        yield f"priced_for is {statement.priced_for!r}, which must be {wanted!r}"
    strategy = statement.plan.strategy
    if statement.strategy.get("sha256") != digest_of(strategy):
        yield "the digest of the strategy is not that of its numbers"
    if mislabelled(statement.strategy, strategy):
        name = statement.strategy.get("factorization")
        yield f"the strategy is called {name!r}, but its numbers are others"
    if statement.arithmetic == "exact" and not runs_exactly(statement.strategy, strategy):
        yield "the arithmetic is 'exact', but the strategy has entries that are not"
    norms = statement.clipping.get("norms", {}).values()
    if not math.hypot(*norms) <= statement.max_grad_norm * (1.0 + ROUNDING_OF_NORMS):
        yield "the norms of the layers are together more than max_grad_norm"
    yield from _impossible_probe(statement)
    yield from impossible_schedule(statement)
    whole, planned = statement.whole_steps, statement.planned_steps
    if whole is not None and not (statement.taken_steps == planned <= whole):
        yield f"a checkpoint after {planned} of {whole} steps has {statement.taken_steps} taken"
    if whole is not None and statement.filter is not None:
        yield "the claim of a run with a filter is its budget, at a checkpoint too"


def _impossible_probe(statement: Statement) -> Iterator[str]:
    """Results that no probe gives: it runs in a step, or before the next one, or does not pass."""
    if statement.probe is None:
        return
    step, examples, change = (
        statement.probe[name] for name in ("step", "examples", "largest_change")
    )
    if step > statement.taken_steps + 1:
        yield f"the probe is of step {step}, but {statement.taken_steps} steps are taken"
    if examples < 2:
        yield f"the probe compared {examples} example, where it needs two"
    if not change <= LARGEST_CHANGE:
        yield f"the probe found a change of {change:.2g}, with which it does not pass"


def _differences(
    statement: Statement | JointStatement, guarantee: Guarantee, answer: Answer
) -> Iterator[str]:
    """Where the recomputed guarantee differs."""
    if not statement.epsilon >= answer.value * (1 - ROUNDING):
        yield f"epsilon {statement.epsilon:.8g} is below the recomputed {answer.value:.8g}"
    if KINDS.index(statement.kind) < KINDS.index(answer.kind):
        yield f"the kind {statement.kind!r} is stronger than the recomputed {answer.kind!r}"
    if statement.adjacency != guarantee.adjacency:
        yield f"the adjacency {statement.adjacency!r} must be {guarantee.adjacency!r}"
    if statement.method != answer.method:
        yield f"the method {statement.method!r} is not {answer.method!r}"
    if statement.unit != guarantee.unit:
        yield f"the unit {statement.unit!r} must be {guarantee.unit!r}"
