"""Several Renyi orders at once: the filter that ends with the last of them, and the odometer."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter

STEP = {"rate": 0.01, "noise_multiplier": 1.0}
EXPECTED = [(0.01, 1.0, 1)]


def steps_of(f: filters.Filter, **request: float) -> int:
    """How many such steps a filter permits, unclipped."""
    count, block = 0, 512
    while block:
        try:
            f.request(**request, steps=block, clip=False)
            count += block
        except BudgetExceeded:
            block //= 2
    return count


def test_a_good_expectation_costs_at_most_two_per_cent() -> None:
    """Beside one order with all of delta; at epsilon 1 and 2."""
    for epsilon, noise in ((1.0, 1.5), (2.0, 1.0)):
        step = {"rate": 0.01, "noise_multiplier": noise}
        target = {"epsilon": epsilon, "delta": 1e-5, "expected": [(0.01, noise, 1)]}
        one, several = filters.Renyi(**target), filters.RenyiOrders(**target)
        assert several.guarantee().epsilon(1e-5) <= epsilon
        assert steps_of(several, **step) >= 0.98 * steps_of(one, **step)


def test_a_wrong_expectation_is_not_fatal() -> None:
    """Full batches were expected: one order allows 28 steps, several a quarter of the best."""
    best = steps_of(filters.Renyi(epsilon=2.0, delta=1e-5, expected=EXPECTED), **STEP)
    wrong = {"epsilon": 2.0, "delta": 1e-5, "expected": [(1.0, 1.0, 1)]}
    assert steps_of(filters.Renyi(**wrong), **STEP) < 0.05 * best
    assert steps_of(filters.RenyiOrders(**wrong), **STEP) > 0.25 * best
    blind = filters.RenyiOrders(epsilon=2.0, delta=1e-5)
    assert steps_of(blind, **STEP) > 0.7 * best


def test_one_order_says_what_would_have_lasted() -> None:
    """Without an expectation the refusal names the order, what a step took and a better one."""
    f = filters.Renyi(epsilon=2.0, delta=1e-5)
    steps_of(f, **STEP)
    with pytest.raises(BudgetExceeded, match=r"order 10 .* 3\.54% .* order is 7\.9 and 881"):
        f.request(**STEP, clip=False)
    told = filters.Renyi(epsilon=2.0, delta=1e-5, order=10)
    steps_of(told, **STEP)
    with pytest.raises(BudgetExceeded) as refusal:
        told.request(**STEP, clip=False)
    assert "expected" not in str(refusal.value)


def test_deltas_of_orders_add_up() -> None:
    """The guarantee at any epsilon is the sum over orders, and at most delta at the target."""
    f = filters.RenyiOrders(epsilon=1.5, delta=1e-5, orders=[(8.0, 0.7), (16.0, 0.3)])
    alone = [
        filters.Renyi(epsilon=1.5, delta=share * 1e-5, order=order) for order, share in f.orders
    ]
    for epsilon in (1.0, 1.5, 3.0):
        total = sum(one.guarantee().delta(epsilon) for one in alone)
        assert math.isclose(f.guarantee().delta(epsilon), total, rel_tol=1e-9)
    assert f.guarantee().delta(1.5) <= 1e-5
    for orders in ([(8.0, 0.7), (8.0, 0.3)], [(8.0, 0.7), (9.0, 0.4)], [(0.5, 1.0)], [], [3]):
        with pytest.raises(InvalidParameter):
            filters.RenyiOrders(epsilon=1.5, delta=1e-5, orders=orders)


def test_an_order_that_ended_stays_ended(tmp_path: Path) -> None:
    """Its number is missing in the ledger from then on; also after a cancellation and a restart."""
    where = {"ledger": tmp_path / "budget.db", "name": "run"}
    f = filters.RenyiOrders(epsilon=2.0, delta=1e-5, orders=[(8.0, 0.5), (40.0, 0.5)], **where)
    f.request(**STEP).cancel()  # infinite, or nearly so, at order 40
    f.request(rate=1.0, noise_multiplier=20.0).commit()
    again = filters.join(**where)
    assert [entry.request["divergences"][1] for entry in again.history] == [None, None]
    assert again.spent == f.spent > 0
    clipped = again.request(rate=1.0, noise_multiplier=1.0)
    assert 0 < clipped.clip_scale < 1
    with pytest.raises(BudgetExceeded):
        f.request(rate=1.0, noise_multiplier=1.0, clip=False)
    assert filters.from_description(f.describe()).orders == f.orders


def test_the_odometer_costs_little() -> None:
    """After 1,000 steps of (0.01, 1): at most 15 % more than the Renyi filter that fits them."""
    needed = 2.101  # the smallest epsilon of `Renyi` for these steps, by its best order
    f = filters.Renyi(epsilon=needed, delta=1e-5, expected=EXPECTED)
    assert 990 <= steps_of(f, **STEP) < 1000
    blind = filters.Odometer(delta=1e-5)
    told = filters.Odometer(delta=1e-5, expected=[(0.01, 1.0, 1000)])
    for odometer in (blind, told):
        assert odometer.epsilon == 0.0
        for steps in (1, 99, 900):
            before = odometer.epsilon
            odometer.request(**STEP, steps=steps).commit()
            assert odometer.epsilon > before
    assert needed < blind.epsilon <= 1.15 * needed
    assert needed <= told.epsilon <= 1.01 * needed
    assert math.isclose(blind.guarantee().epsilon(1e-5), blind.epsilon, rel_tol=1e-9)
    assert blind.audit().epsilon(1e-5).realised < blind.epsilon


def test_the_odometer_is_kept(tmp_path: Path) -> None:
    """In a ledger; reserved steps count, cancelled ones do not."""
    where = {"ledger": tmp_path / "budget.db", "name": "run"}
    odometer = filters.Odometer(delta=1e-5, **where)
    odometer.request(**STEP)
    odometer.request(**STEP, steps=100).cancel()
    again = filters.Odometer(delta=1e-5, **where)
    alone = filters.Odometer(delta=1e-5)
    alone.request(**STEP)
    assert again.epsilon == odometer.epsilon == alone.epsilon > 0
    huge = filters.Odometer(delta=1e-5)
    huge.request(rate=1.0, noise_multiplier=1e-6)
    assert huge.epsilon > 1e10
    with pytest.raises(InvalidParameter):
        odometer.describe()  # no guarantee that a statement could carry
    assert hs.filters.Odometer is filters.Odometer


def test_an_odometer_sees_what_others_exchanged(tmp_path) -> None:
    """One request cancelled and another one made elsewhere: as many, and another epsilon."""
    one, other = (filters.Odometer(delta=1e-5, ledger=tmp_path / "ledger.db") for _ in range(2))
    small = one.request(rate=0.001, noise_multiplier=10.0)
    other.request(rate=1.0, noise_multiplier=0.5, steps=10).commit()
    small.cancel()
    assert one.epsilon == other.epsilon > 50
    assert one.guarantee().epsilon(1e-5) > 50
    assert "epsilon=54" in repr(one)
