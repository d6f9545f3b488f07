"""What is read off the answers, and how far a promise is missed."""

from __future__ import annotations

import pytest

import quantities as q
from cases import US
from in_one_test import in_one_test
from promises import PROMISES, Promise
from verdicts import verdict, verdicts

ANSWERS = {
    US: {
        "lower": 0.9,
        "upper": 1.1,
        "values": [2.0, 3.0],
        "seconds": [9.0, 2.0, 4.0],
        "peak_mb": 150.0,
    },
    "peer": {"lower": 1.2, "upper": 1.5, "values": [2.0, 4.0], "seconds": [30.0], "peak_mb": 50.0},
}
QUANTITIES = [
    (q.Speed("peer"), 15.0),
    (q.Difference("peer"), 0.25),
    (q.OutsidePeer("peer"), 1.2 / 1.1 - 1),
    (q.Seconds(), 2.0),
    (q.Memory("peer"), 50.0),
    (q.Width(), 1.1 / 0.9),
    (q.Answer("peer"), 1.5),
    (q.Value(1), 3.0),
    (q.Quotient(1, 0), 1.5),
    (q.Outside(0.95, 1.0), 0.1),
    (q.Outside(0.5, 2.0), 0.0),
    (q.Distance((2.0, 2.0)), 0.5),
    (q.Exceeding((4.0, 2.0)), 1.5),
]


@in_one_test
@pytest.mark.parametrize(("quantity", "expected"), QUANTITIES, ids=str)
def test_quantities(quantity, expected):
    """By hand."""
    assert quantity(ANSWERS, min) == pytest.approx(expected, rel=1e-12)
    assert set(quantity.needs) <= set(ANSWERS)


@pytest.mark.parametrize(
    ("bound", "held", "text"),
    [
        ({"least": 15.0}, True, "held"),
        ({"least": 20.0}, False, "missed by 25 %"),
        ({"most": 15.0}, True, "held"),
        ({"most": 12.0}, False, "missed by 25 %"),
        ({"most": 0.0}, False, "missed by 1.5e+03 %"),
    ],
)
def test_a_miss_is_told_with_its_size(bound, held, text):
    """15 times as fast against several bounds."""
    promise = Promise(2, "poisson", "times as fast", q.Speed("peer"), **bound)
    found = verdict(promise, {"poisson": ANSWERS})
    assert found.measured == pytest.approx(15.0, rel=1e-12)
    assert found.held is held
    assert found.text == text


def test_a_peer_that_failed_is_not_beaten():
    """Its error is the reason."""
    promise = Promise(2, "poisson", "times as fast", q.Speed("peer"), least=1.0)
    found = verdict(promise, {"poisson": {**ANSWERS, "peer": {"error": "timed out after 5 s"}}})
    assert found.measured is None
    assert not found.held
    assert found.text == "not measured: peer: timed out after 5 s"


def test_a_case_that_was_not_run():
    """Every promise has a verdict, also without any results."""
    judged = verdicts({})
    assert len(judged) == len(PROMISES)
    assert {v.text for v in judged} == {"not measured: the case was not run"}
