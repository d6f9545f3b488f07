"""What every store promises, whatever it is kept in: its entries, its sums and its texts."""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import BudgetExceeded, InvalidParameter, LedgerError
from hockeystick.ledger import MemoryStore
from hockeystick.ledger.store import admit, as_text, checked_budget, from_text, rounded_up
from in_one_test import in_one_test

BUDGETS = st.floats(1e-280, 1e300)
SHARES = st.floats(0, 1)


def costing(charge, **request):
    """A decision that asks for the same whatever was spent."""
    return lambda spent: (charge, request)


def test_reserve_counts_at_once(new_store):
    """The reservation is in the sum and in the history before anything was run."""
    store = new_store(1.0)
    entry = store.reserve(costing(0.25, rate=0.1, noise_multiplier=2))
    assert entry == (1, 0.25, {"rate": 0.1, "noise_multiplier": 2}, "reserved")
    assert store.spent() == 0.25
    assert list(store.history()) == [entry]


def test_decide_sees_what_was_spent(new_store):
    """It gets the sum of everything reserved and committed before."""
    store = new_store(1.0)
    seen = []
    for charge in (0.5, 0.125, 0.25):
        store.reserve(lambda spent, charge=charge: (seen.append(spent), (charge, {}))[1])
    assert seen == [0.0, 0.5, 0.625]
    assert [entry.number for entry in store.history()] == [1, 2, 3]


def test_commit_twice_is_once(new_store):
    """A commit that is repeated after a lost answer changes nothing."""
    store = new_store(1.0)
    number = store.reserve(costing(0.5)).number
    store.commit(number)
    store.commit(number)
    assert store.spent() == 0.5
    assert store.history()[0].status == "committed"


def test_cancel_gives_back_once(new_store):
    """The charge comes back exactly, and only once; the number is not used again."""
    store = new_store(1.0)
    store.reserve(costing(0.1))
    before = store.spent()
    number = store.reserve(costing(1 / 3)).number
    store.cancel(number)
    store.cancel(number)
    assert store.spent() == before
    assert store.history()[1].status == "cancelled"
    assert store.reserve(costing(0.0)).number == 3


def test_commit_and_cancel_exclude_each_other(new_store):
    """What was run cannot be given back; what was given back cannot be run."""
    store = new_store(1.0)
    run, dropped = (store.reserve(costing(0.25)).number for _ in range(2))
    store.commit(run)
    store.cancel(dropped)
    with pytest.raises(InvalidParameter, match=r"can still be cancelled \(this one is committed\)"):
        store.cancel(run)
    with pytest.raises(InvalidParameter, match=r"can still be committed \(this one is cancelled\)"):
        store.commit(dropped)
    assert store.spent() == 0.25


@pytest.mark.parametrize("number", [0, 2, -1, 10**30, 1.0, "1", None])
def test_unknown_entries(new_store, number):
    """There is nothing to commit or to cancel."""
    store = new_store(1.0)
    store.reserve(costing(0.25))
    for change in (store.commit, store.cancel):
        with pytest.raises(InvalidParameter, match="number must be the number of an entry"):
            change(number)


def test_numbers_of_numpy(new_store):
    """An integer is an integer."""
    store = new_store(1.0)
    entries = [store.reserve(costing(0.25)) for _ in range(2)]
    store.commit(np.int64(entries[0].number))
    store.cancel(np.int32(entries[1].number))
    assert [entry.status for entry in store.history()] == ["committed", "cancelled"]


def test_no_more_than_the_budget(new_store):
    """Even if decide is wrong about what is left; what is left can be spent to the last place."""
    store = new_store(0.3)
    store.reserve(costing(0.1))
    with pytest.raises(BudgetExceeded):
        store.reserve(costing(0.3))
    store.reserve(lambda spent: (0.3 - spent, {}))
    assert store.spent() == 0.3
    with pytest.raises(BudgetExceeded):
        store.reserve(costing(1e-300))
    assert len(store.history()) == 2


def test_nothing_is_kept_when_decide_raises(new_store):
    """Its error comes through as it is, an OSError included."""
    store = new_store(1.0)
    for error in (BudgetExceeded("none left"), OSError("no such file")):

        def decide(spent, error=error):
            raise error

        with pytest.raises(type(error), match=str(error)):
            store.reserve(decide)
    assert store.spent() == 0.0
    assert not store.history()
    assert store.reserve(costing(0.5)).number == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_requests_are_plain(new_store, value):
    """What JSON cannot keep is refused, and nothing is reserved."""
    store = new_store(1.0)
    with pytest.raises(InvalidParameter, match="request must be a mapping"):
        store.reserve(costing(0.5, value=value))
    assert store.spent() == 0.0


def test_requests_are_copied(new_store):
    """Changing the mapping afterwards does not change the history."""
    store = new_store(1.0)
    request = {"rate": 0.5, "more": [1, 2]}
    store.reserve(lambda spent: (0.5, request))
    request["more"].append(3)
    assert store.history()[0].request == {"rate": 0.5, "more": [1, 2]}


@pytest.mark.slow
def test_threads_share_a_store(new_store):
    """Four threads, each with its reservations; no number twice, no charge lost."""
    store = new_store(1.0)
    found = []

    def work():
        """Fifty reservations, every second one given back."""
        for step in range(50):
            entry = store.reserve(costing(2.0**-9))
            (store.cancel if step % 2 else store.commit)(entry.number)
            found.append(entry.number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 201))
    assert store.spent() == 100 * 2.0**-9


@pytest.mark.slow
def test_many_requests_in_memory():
    """The sum is that of the charges, to the last bit."""
    store = MemoryStore(1.0)
    for step in range(20_000):
        entry = store.reserve(costing(1e-5 / (1 + step % 7)))
        store.commit(entry.number)
    assert store.spent() == math.fsum(entry.charge for entry in store.history())
    assert store.spent() == pytest.approx(2e4 * 1e-5 * (363 / 140) / 7, rel=1e-4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_spends_nothing_from_memory():
    """Parent and child have a copy each: only one of them may spend."""
    store = MemoryStore(1.0)
    child = os.fork()
    if child == 0:
        try:
            store.reserve(costing(0.5))
        except LedgerError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    store.reserve(costing(1.0))


# -- sums without rounding errors ------------------------------------------------------------------


@given(budget=BUDGETS, share=SHARES)
def test_rounding_is_up_and_by_less_than_a_place(budget, share):
    """The charge grows by less than the budget's last place."""
    charge = share * budget
    rounded = rounded_up(charge, budget=budget)
    assert 0 <= Fraction(rounded) - Fraction(charge) < Fraction(math.ulp(budget))
    assert Fraction(rounded) % Fraction(math.ulp(budget)) == 0


@given(budget=BUDGETS, shares=st.lists(SHARES, max_size=30))
def test_sums_are_exact_and_within_the_budget(budget, shares):
    """Against fractions; what does not fit is refused exactly when it does not fit."""
    spent, exact = 0.0, Fraction(0)
    for share in shares:
        asked = share * budget
        if exact + Fraction(asked) > Fraction(budget):
            with pytest.raises(BudgetExceeded):
                admit(asked, spent=spent, budget=budget)
            continue
        charge = admit(asked, spent=spent, budget=budget)
        spent, exact = spent + charge, exact + Fraction(charge)
        assert Fraction(spent) == exact
        assert spent <= budget


@given(budget=BUDGETS, share=SHARES)
def test_the_rest_can_always_be_spent(budget, share):
    """Floating-point subtraction gives a charge that is admitted, and nothing is left."""
    spent = admit(share * budget, spent=0.0, budget=budget)
    assert spent + admit(budget - spent, spent=spent, budget=budget) == budget


def test_a_charge_that_underflows_is_counted():
    """A charge that vanishes next to the budget's last place still costs one place."""
    assert rounded_up(5e-324, budget=1e300) == math.ulp(1e300)


@pytest.mark.parametrize("charge", [math.nan, -1.0, "1", None])
def test_charges_that_are_none(charge):
    """Only numbers from zero upwards are charges."""
    with pytest.raises(InvalidParameter, match="charge must be a number >= 0"):
        admit(charge, spent=0.0, budget=1.0)


def test_an_infinite_charge_is_too_much():
    """A request of infinite cost is refused as too expensive, not as malformed."""
    with pytest.raises(BudgetExceeded, match="only 1 of the budget 1 is left"):
        admit(math.inf, spent=0.0, budget=1.0)


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, math.inf, 1e-300])
def test_budgets_that_are_none(budget):
    """Finite, positive, and not in the range where digits are lost."""
    with pytest.raises(InvalidParameter, match="budget must be a finite number"):
        checked_budget(budget)


# -- requests and descriptions as text -------------------------------------------------------------


@in_one_test
@pytest.mark.parametrize(
    "text",
    [
        '{"rate": 0.1, "rate": 0.9}',
        '{"clip_scale": 1.0, "clip_scale": 0.001}',
        '{"rate": NaN}',
        r'{"filter": "\u001b[31m"}',
        r'{"a\nb": 1}',
        '{"rate": 1e999}',
        "[" * 100_000,
        "[]",
    ],
)
def test_text_that_can_be_read_in_two_ways_is_damage(text):
    """Names that occur twice, infinite numbers, and what is no object."""
    with pytest.raises(LedgerError, match="damaged"):
        from_text(text)


def test_what_was_written_is_read():
    """To the last digit; descriptions of arrays have several lines."""
    values = {"rate": 0.1, "inner": {"rate": 1e-300}, "name": "ε\nδ", "steps": [1, 2]}
    assert from_text(as_text(values)) == values
