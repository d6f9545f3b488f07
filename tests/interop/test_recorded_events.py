"""The events of dp-accounting 0.6.0's own tests: each is accounted, or refused with a reason.

`dp_accounting_events.txt` has those that its tests of accountants, builders and calibration compose
or ask about, `DpEvent` left out of the names and repetitions counted.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path

import pytest
from dp_accounting import dp_event

import hockeystick as hs
from hockeystick.interop.events import _REFUSED

LINES = Path(__file__).with_name("dp_accounting_events.txt").read_text().splitlines()
NAMES = {
    name.removesuffix("DpEvent"): found
    for name, found in vars(dp_event).items()
    if name.endswith("DpEvent") and name != "DpEvent"
}
# Why the events that are refused have no guarantee, in words of the message.
REASONS = (
    "must be",
    "guarantees nothing",
    "without noise nothing is private",
    "cannot be accounted",
    "no bound is proven here",
    "proven for Gaussian noise only",
)


def outcome(line):
    """An upper bound on epsilon with its lower one, or the reason."""
    event = eval(line, {**NAMES, "inf": math.inf})  # lines of the file beside
    try:
        answer = hs.interop.from_dp_event(event).answer(delta=1e-5)
    except hs.errors.HockeystickError as refusal:
        return str(refusal)
    assert 0 <= (answer.lower or 0.0) <= answer.value
    return answer.value


@pytest.mark.slow
def test_events_of_their_tests():
    """190 of 221 events have a number, all others a reason; none takes 20 seconds of work."""
    kinds = Counter()
    for line in LINES:
        begun = time.process_time()
        found = outcome(line)
        assert time.process_time() - begun < 20, line
        kinds[type(found)] += 1
        if isinstance(found, str):
            assert any(reason in found for reason in REASONS), (line, found)
    assert len(LINES) == 221
    assert kinds[str] == 31
    assert kinds[float] == 190


@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_what_cannot_be_accounted_is_refused_inside_others(name):
    """Whatever is composed with it is refused too."""
    inner = [line for line in LINES if line.startswith(name.removesuffix("DpEvent") + "(")]
    assert inner
    for line in inner:
        for outer in (line, f"Composed([Gaussian(1), {line}])", f"SelfComposed({line}, 2)"):
            assert name in str(outcome(outer))


def test_events_that_are_a_single_run_or_nothing():
    """A search that always makes one run is that run; shifts that are all 0 release nothing."""
    base = outcome("Gaussian(1)")
    assert outcome("RepeatAndSelect(Gaussian(1), 1, 1)") == base
    assert outcome("RepeatAndSelect(Gaussian(1), 1, 0)") == base
    assert outcome("MixtureOfGaussians(1, [0], [1.0])") == 0
    assert outcome("SampledWithoutReplacement(1000, 0, Gaussian(1))") == 0
