"""Budgets and rates that differ from example to example."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import InvalidParameter


def test_budgets_that_differ(tmp_path) -> None:
    """Each example stops at its own budget; the state is that of these budgets alone."""
    shares = np.array([1.0, 0.25, 0.5])
    people = filters.Individual.gaussian(examples=3, mu=1.0, shares=shares)
    for _ in range(5):
        people.step(np.ones(3), noise_multiplier=2.0)
    assert people.active.tolist() == [False, False, False]
    assert np.allclose(people.spent, shares, rtol=1e-12)
    assert (people.spent == people.budgets).all()
    assert people.report().shares.tolist() == [1.0, 1.0, 1.0]
    assert people.guarantee(share=0.25).delta(0.5) == pytest.approx(
        hs.Profile.gaussian(noise_multiplier=2.0).delta(0.5), rel=1e-9
    )
    people.save(tmp_path / "state.npz")
    again = filters.Individual.gaussian(examples=3, mu=1.0, shares=shares)
    again.load(tmp_path / "state.npz")
    assert (again.remaining == people.remaining).all()
    for other in (None, shares[::-1]):
        with pytest.raises(InvalidParameter):
            filters.Individual.gaussian(examples=3, mu=1.0, shares=other).load(
                tmp_path / "state.npz"
            )
    kept = {"ledger": tmp_path / "ledger.db", "name": "b"}
    one = filters.Individual.gaussian(examples=3, mu=1.0, shares=shares, **kept)
    one.step(np.ones(3), noise_multiplier=2.0)
    same = filters.Individual.gaussian(examples=3, mu=1.0, shares=shares, **kept)
    assert (same.remaining == one.remaining).all()
    with pytest.raises(hs.errors.HockeystickError):
        filters.Individual.gaussian(examples=3, mu=1.0, **kept)


def test_rates_that_differ() -> None:
    """Each example pays for its own rate, at most a few per cent more, never less."""
    rates = np.random.default_rng(2).uniform(0.001, 0.2, 60)
    norms = np.random.default_rng(3).uniform(0.0, 1.5, 60)
    make = lambda n: filters.Individual.renyi(  # noqa: E731
        examples=n, epsilon=3.0, delta=1e-5, order=6
    )
    people = make(60)
    people.step(norms, rate=rates, noise_multiplier=1.0)
    for j in range(60):
        alone = make(1)
        alone.step(norms[j : j + 1], rate=float(rates[j]), noise_multiplier=1.0)
        assert alone.spent[0] <= people.spent[j] <= 1.25 * alone.spent[0] + 1e-12


def test_participation_is_charged_and_drawn() -> None:
    """Who takes part less often is charged for the smaller rate, and left out as often."""
    count = 4000
    chances = np.where(np.arange(count) % 2, 1.0, 0.3)
    people = filters.Individual.renyi(
        examples=count, epsilon=3.0, delta=1e-5, order=6, participation=chances
    )
    step = people.step(np.ones(count), rate=0.1, noise_multiplier=1.0)
    other = filters.Individual.renyi(examples=count, epsilon=3.0, delta=1e-5, order=6)
    other.step(np.ones(count), rate=0.1 * chances, noise_multiplier=1.0)
    assert (people.spent == other.spent).all()
    kept = step.factors > 0
    assert kept[1::2].all()
    assert abs(kept[::2].mean() - 0.3) < 6 * math.sqrt(0.21 / (count / 2))


@pytest.mark.parametrize("given", [[0.5], [0.0, 1.0, 1.0], [1.1, 1.0, 1.0], [math.nan, 1.0, 1.0]])
@pytest.mark.parametrize("name", ["shares", "participation"])
def test_wrong_shares(name: str, given: list[float]) -> None:
    """One number in (0, 1] for each example."""
    with pytest.raises(InvalidParameter):
        filters.Individual.gaussian(examples=3, mu=1.0, **{name: given})
    with pytest.raises(InvalidParameter):
        filters.Individual.gaussian(examples=3, mu=1.0).step(
            np.ones(3), rate=np.array(given), noise_multiplier=1.0
        )
