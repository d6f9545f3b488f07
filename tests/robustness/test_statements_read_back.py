"""Privacy statements with any of their facts changed: a verdict, never an exception."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.training import RunRecord, Statement, check_statement, statement
from hypothesis_strategies import examples
from robustness.outcomes import outcome, refused
from robustness.values import absurd, deltas, noises

pytestmark = pytest.mark.slow

STEPS = 6


@cache
def true() -> dict[str, Any]:
    """The fields of a true statement."""
    plan = hs.Plan(
        sampling=hs.CyclicPoisson(rate=0.2, groups=2),
        steps=STEPS,
        strategy=hs.strategies.bsr(STEPS, bands=2),
    )
    record = RunRecord(plan=plan, taken_steps=STEPS, noise_multiplier=1.2, max_grad_norm=1.0)
    return json.loads(statement(record, delta=1e-5).to_json())


def plain(value: object) -> object:
    """As JSON has it; what it has not becomes text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (int, float, str, list, dict, type(None))):
        return value
    return repr(value)


@examples(48)
@given(st.data(), absurd().map(plain) | noises() | deltas())
def test_changed_fields(data: st.DataObject, value: object) -> None:
    """Refused when it is read, or found false, or still true."""
    fields = json.loads(json.dumps(true()))
    name = data.draw(st.sampled_from(sorted(fields)))
    inner = fields[name]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from(sorted(inner)))] = value
    else:
        fields[name] = value
    read = outcome(lambda: Statement.from_json(json.dumps(fields)))
    if not refused(read):
        verdict = outcome(lambda: check_statement(read))
        assert verdict.holds == (verdict.problems == ())


@examples(24)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    """Text that is no statement is refused."""
    assert refused(outcome(lambda: Statement.from_json(text)))
