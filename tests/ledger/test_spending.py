"""What is spent and left of a budget, as epsilons beside its unit."""

from __future__ import annotations

import json

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import read_ledger, spending_of

TARGET = {"epsilon": 2.0, "delta": 1e-5, "expected": [(0.01, 1.0, 1)]}


def fixed(steps: int) -> float:
    """Epsilon of steps of the target's kind that are fixed in advance."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=steps)
    return hs.account(plan, noise_multiplier=1.0).epsilon(1e-5)


def test_nothing_is_spent() -> None:
    """Then all of epsilon is left."""
    found = filters.Renyi(**TARGET).spending()
    assert (found.spent, found.steps_left) == (0.0, None)
    assert found.left == found.epsilon == pytest.approx(2.0)


def test_spent_and_left_are_those_of_steps_fixed_in_advance() -> None:
    """Spent: the steps so far; left: what the rest adds if it goes into steps like the latest."""
    f = filters.Renyi(**TARGET)
    f.request(rate=0.01, noise_multiplier=1.0, steps=300).commit()
    found = f.spending()
    assert found.spent == pytest.approx(fixed(300), rel=0.01)
    assert found.spent + found.left == pytest.approx(fixed(881), rel=0.01)
    assert found.steps_left == 881 - 300
    f.request(rate=0.01, noise_multiplier=1.0, steps=581).commit()
    after = f.spending()
    assert after.steps_left == 0
    assert after.left == 0.0


def test_all_of_a_gaussian_budget() -> None:
    """Where a filter loses nothing, spent and left add up to its epsilon at every time."""
    f = filters.Gaussian(mu=1.0)
    for quarter in range(4):
        f.request(noise_multiplier=2.0001).commit()
        found = f.spending(delta=1e-6)
        assert found.steps_left == 3 - quarter
        assert found.spent + found.left == pytest.approx(found.epsilon, rel=1e-3)
        assert found.spent + found.left <= found.epsilon
    with pytest.raises(InvalidParameter, match="delta"):
        f.spending()


def test_cancelled_and_unknown_entries() -> None:
    """What was cancelled is not spent; a profile is no number in a ledger."""
    f = filters.Renyi(**TARGET)
    f.request(rate=0.01, noise_multiplier=1.0, steps=3).cancel()
    assert f.spending().spent == 0.0
    f.request(profile=hs.Profile.laplace(scale=50.0)).commit()
    assert f.spending().spent is None


def test_an_asymptotic_filter_may_have_spent_more_than_it_claims() -> None:
    """Its epsilon is no bound on what the steps cost."""
    f = filters.ApproximateGaussian(mu=0.3003)
    f.request(rate=0.01, noise_multiplier=0.8, steps=239).commit()
    found = f.spending(delta=1e-5)
    assert found.spent > found.epsilon


def test_a_ledger_says_the_same(tmp_path, capsys) -> None:
    """In Python, as text and as JSON; budgets that stand for mu ask for a delta."""
    path = tmp_path / "budget.db"
    f = filters.Renyi(**TARGET, ledger=path, name="run")
    f.request(rate=0.01, noise_multiplier=1.0, steps=300).commit()
    filters.Gaussian(mu=1.0, ledger=path, name="survey")
    records = {record.name: record for record in read_ledger(path)}
    found = spending_of(records["run"])
    assert found[2:] == f.spending()[2:]
    assert spending_of(records["survey"]) is None
    assert main(["ledger", "show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["ledger"]
    assert shown[0]["spending"]["left"] == found.left
    assert shown[1]["spending"] is None
    assert main(["ledger", "show", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "run: spent: epsilon 1.07" in text
    assert "581 steps like the latest" in text
    assert "survey: with --delta" in text
    assert main(["ledger", "show", str(path), "--delta", "1e-5"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "survey: nothing is spent; epsilon 4.37" in text
