"""The table of promises: each is measurable by a case that somebody answers."""

from __future__ import annotations

import pytest

import quantities as q
from cases import CASES, CAVEATS, US
from in_one_test import in_one_test
from promises import PROMISES, Promise
from roster import PARTICIPANTS
from sweeps import SWEEPS


@in_one_test
@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: f"{p.issue} {p.case} {p.what}")
def test_a_promise_has_a_case_and_those_it_needs(promise):
    """The case exists, and everybody whose answer is needed is asked."""
    assert 2 <= promise.issue <= 11
    assert promise.what
    assert set(promise.quantity.needs) <= set(CASES[promise.case].participants)


def test_no_promise_is_made_twice():
    """A quantity of a case has one bound."""
    keys = [(p.case, p.what) for p in PROMISES]
    assert len(keys) == len(set(keys))


def test_every_issue_with_numbers_is_there():
    """Issues 2 to 9 and 11 promised something that can be measured."""
    assert {p.issue for p in PROMISES} == {2, 3, 4, 5, 6, 7, 8, 9, 11}


@pytest.mark.parametrize("bounds", [{}, {"least": 1.0, "most": 2.0}])
def test_a_promise_has_one_bound(bounds):
    """Neither none nor two."""
    with pytest.raises(ValueError, match="either"):
        Promise(2, "poisson", "something", q.Answer(), **bounds)


def test_everybody_who_is_asked_is_known():
    """Cases and sweeps name participants of the roster; caveats name answers."""
    asked = {
        who for question in (*CASES.values(), *SWEEPS.values()) for who in question.participants
    }
    assert asked == set(PARTICIPANTS)
    assert all(who in CASES[case].participants for case, who in CAVEATS)


def test_questions_have_names_of_their_own():
    """`make bench CASES=...` takes cases and sweeps, separated by blanks."""
    assert not set(CASES) & set(SWEEPS)
    assert all(" " not in name for name in (*CASES, *SWEEPS))


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_goes_from_easy_to_hard(name):
    """Four to six points in one direction."""
    points = SWEEPS[name].points
    assert 4 <= len(points) <= 6
    assert list(points) in (sorted(points), sorted(points, reverse=True))


@pytest.mark.slow
def test_we_answer_what_we_are_asked():
    """Our participant has a function for each of its cases and sweeps, and no other."""
    from ours import accounting, adaptive, draws, matrices

    parts = (accounting, adaptive, draws, matrices)
    ours = {name for part in parts for name in part.CASES}
    swept = {name for part in parts for name in getattr(part, "SWEEPS", {})}
    assert ours == {name for name, case in CASES.items() if US in case.participants}
    assert swept == {name for name, sweep in SWEEPS.items() if US in sweep.participants}
