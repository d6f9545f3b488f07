"""Joining a budget by its name, names that may be typos, and labels of who spent."""

from __future__ import annotations

import json

import pytest

from hockeystick import filters
from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter, LedgerError, UnknownParameter
from hockeystick.filters import registry
from hockeystick.ledger import audit, open_store, read_ledger
from ledger.test_audit import tamper

STEP = {"rate": 0.01, "noise_multiplier": 1.0}
MAKERS = {
    "renyi": lambda **kept: filters.Renyi(
        epsilon=2.0, delta=1e-5, expected=[(0.01, 1.0, 1)], **kept
    ),
    "gaussian": lambda **kept: filters.Gaussian(mu=0.3, **kept),
    "approximate": lambda **kept: filters.ApproximateGaussian(mu=0.3, **kept),
    "levy": lambda **kept: filters.Levy(epsilon=1.0, delta=1e-5, **kept),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_joined_by_name_alone(make, where, name):
    """The same filter, to the last digit of its parameters, that shares its spending."""
    first = make(ledger=where, name=name)
    joined = filters.join(ledger=where, name=name)
    assert joined.describe() == first.describe()
    assert joined.budget_id == first.budget_id
    joined.request(**STEP).commit()
    assert first.spent == joined.spent > 0
    assert make(ledger=where, name=name, must_exist=True).spent == first.spent


def test_other_budgets_have_other_numbers(directory):
    """The same name and parameters in two ledgers, two names in one, and copies in memory."""
    budgets = [
        filters.Gaussian(mu=1.0, ledger=directory / file, name=name)
        for file in ("one.db", "two.db")
        for name in ("survey", "another")
    ] + [filters.Gaussian(mu=1.0), filters.Gaussian(mu=1.0)]
    numbers = [one.budget_id for one in budgets]
    assert len(set(numbers)) == len(numbers)
    budgets[0].request(noise_multiplier=2.0).commit()
    assert [one.budget_id for one in budgets] == numbers


def test_joining_makes_nothing(directory):
    """Neither a file nor a budget comes from a mistyped path or name."""
    path = directory / "ledger.db"
    with pytest.raises(InvalidParameter, match=r"ledger must be a file that exists"):
        filters.join(ledger=path, name="survey")
    with pytest.raises(InvalidParameter, match=r"no such file"):
        filters.Gaussian(mu=1.0, ledger=path, name="survey", must_exist=True)
    assert not path.exists()
    filters.Gaussian(mu=1.0, ledger=path, name="survey")
    known = r"has 'survey'; the closest is 'survey', got 'surwey'\. See `hockeystick docs ledger"
    with pytest.raises(InvalidParameter, match=known):
        filters.join(ledger=path, name="surwey")
    with pytest.raises(InvalidParameter, match=known):
        filters.Gaussian(mu=1.0, ledger=path, name="surwey", must_exist=True)
    with pytest.raises(InvalidParameter, match="has 'survey', got ''"):
        filters.join(ledger=path)
    with pytest.raises(UnknownParameter, match="epsilon: the parameters of the filter are read"):
        filters.join(ledger=path, name="survey", epsilon=2.0)
    assert [record.name for record in read_ledger(path)] == ["survey"]


def test_a_filter_that_no_ledger_describes(where, name):
    """A profile is given again; a class that nobody registered is unknown."""
    open_store(where, name=name, budget=1.0, description={"filter": "Unknown", "kind": "proven"})
    with pytest.raises(InvalidParameter, match="registered here"):
        filters.join(ledger=where, name=name)


def test_a_filter_of_somebody_else(where, name, monkeypatch):
    """One whose constructor knows neither labels nor `must_exist` is joined as well."""

    class Plain(filters.Gaussian):
        def __init__(self, *, mu, ledger=None, name="default"):
            super().__init__(mu=mu, ledger=ledger, name=name)

    monkeypatch.setattr(registry, "_REGISTERED", {**registry._REGISTERED, "Plain": Plain})
    Plain(mu=0.5, ledger=where, name=name)
    assert type(filters.join(ledger=where, name=name)) is Plain


TYPOS = [
    ("marketing", "marketnig"),
    ("marketing", "Marketing"),
    ("ad models", "ad-models"),
    ("survey 2026", "surve 2026"),
    ("recommendation", "recomendatoin"),
    ("team-blue", "team-bleu"),
    ("team-\u00e9", "team-e\u0301"),
    ("fashion-budget", "fasion-bugdet"),
]
DIFFERENT = [
    ("run-1", "run-2"),
    ("2026-Q1", "2026-Q2"),
    ("team-a", "team-b"),
    ("mnist", "cifar"),
    ("survey", "survey again"),
    ("ads", "apps"),
    ("first", "other"),
]


@pytest.mark.parametrize(("there", "new"), TYPOS)
def test_a_typo_opens_no_second_budget(directory, there, new):
    """One slip away from a budget that is there: refused, with the way to do it all the same."""
    path = directory / "ledger.db"
    filters.Gaussian(mu=1.0, ledger=path, name=there)
    with pytest.raises(InvalidParameter, match="must_exist=False") as caught:
        filters.Gaussian(mu=1.0, ledger=path, name=new)
    assert repr(there) in str(caught.value)
    assert len(read_ledger(path)) == 1
    filters.Gaussian(mu=1.0, ledger=path, name=new, must_exist=False)
    assert len(read_ledger(path)) == 2
    # What exists is opened as ever, whatever else there is.
    filters.Gaussian(mu=1.0, ledger=path, name=new)


@pytest.mark.parametrize(("there", "new"), DIFFERENT)
def test_different_names_are_different(directory, there, new):
    """Numbered names and short words are told apart on purpose."""
    path = directory / "ledger.db"
    filters.Gaussian(mu=1.0, ledger=path, name=there)
    filters.Gaussian(mu=1.0, ledger=path, name=new)
    assert len(read_ledger(path)) == 2


def test_a_mismatch_names_what_was_typed(where, name):
    """The parameter of the call, both values, and the way out; never a value that was computed."""
    kept = {"delta": 1e-5, "ledger": where, "name": name}
    filters.Renyi(epsilon=2.0, expected=[(0.01, 1.0, 1)], **kept)
    with pytest.raises(InvalidParameter, match=r"^expected must be what gives order = 7\.9 .*join"):
        filters.Renyi(epsilon=2.0, **kept)
    with pytest.raises(InvalidParameter, match=r"^order must be 7\.9 .*join.* got 8\.0"):
        filters.Renyi(epsilon=2.0, order=8.0, **kept)
    with pytest.raises(InvalidParameter, match=r"^epsilon must be 2\.0 .*join.* got 3\.0"):
        filters.Renyi(epsilon=3.0, order=7.9, **kept)
    with pytest.raises(InvalidParameter, match=r"^filter must be 'Renyi' .*join.* got 'Gaussian'"):
        filters.Gaussian(mu=1.0, ledger=where, name=name)


def test_labels(where, name):
    """Of the filter, unless the request has its own; none is none. They are in every record."""
    first = MAKERS["renyi"](ledger=where, name=name, label="trainer")
    first.request(**STEP, steps=5).commit()
    first.request(**STEP, label="report").commit()
    filters.join(ledger=where, name=name).request(**STEP)
    (record,) = read_ledger(where, name=name)
    assert [entry.label for entry in record.entries] == ["trainer", "report", ""]
    assert "label" not in record.entries[2].request
    assert list(record.spent_by) == ["trainer", "report", ""]
    assert sum(record.spent_by.values()) == pytest.approx(record.spent, rel=1e-12)
    (found,) = audit(where, name=name)
    assert not found.problems
    assert found.spent_by == record.spent_by
    for label in ("two\nlines", "x" * 201, 7):
        with pytest.raises(InvalidParameter, match=r"^label must be a text"):
            first.request(**STEP, label=label)


def test_a_label_is_covered_by_the_checksum(directory):
    """Whoever changes who spent it, by accident, has a damaged ledger."""
    path = directory / "ledger.db"
    MAKERS["gaussian"](ledger=path, name="run", label="trainer").request(**STEP)
    tamper(path, "UPDATE hockeystick_entries SET request = replace(request, 'trainer', 'nobody')")
    with pytest.raises(LedgerError, match="is not the one in its chain"):
        read_ledger(path)


def test_commands_show_epsilon_and_labels(directory, capsys):
    """What the unit means in epsilon, how much is spent, by whom."""
    path = directory / "ledger.db"
    f = MAKERS["renyi"](ledger=path, name="run", label="trainer")
    f.request(**STEP, steps=300).commit()
    assert main(["ledger", "show", str(path), "--name", "run"]) == 0
    text = capsys.readouterr().out
    assert "the budget, in Renyi divergence, is epsilon 2 at delta 1e-05" in text
    assert f"{100 * f.spent / f.budget:.3g} % of it is spent" in text
    assert "spent: epsilon 1." in " ".join(text.split())
    assert "is what adaptivity costs" in text
    assert "spent by trainer" in text
    assert main(["ledger", "audit", str(path)]) == 0
    text = capsys.readouterr().out
    assert "(the budget is epsilon 2 at delta 1e-05)" in text
    assert "spent by trainer" in text
    assert main(["ledger", "show", str(path), "--json", "--name", "run"]) == 0
    (budget,) = json.loads(capsys.readouterr().out)["ledger"]
    assert budget["guarantee"] == {"epsilon": 2.0, "delta": 1e-5}
    assert budget["entries"][0]["label"] == "trainer"
    assert main(["ledger", "export", str(path), "--output", str(directory / "all.json")]) == 0
    assert capsys.readouterr().out.startswith("1 entry of 1 budget written to ")
    assert repr(f).endswith("unit='Renyi divergence', guarantee='epsilon 2 at delta 1e-05')")
