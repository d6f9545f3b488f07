"""Balls-in-bins with correlated noise on the command line."""

from __future__ import annotations

import json

import pytest

import hockeystick as hs
from cli.conftest import Command

RUN = ["--sampling", "balls-in-bins", "--bins", "8", "--steps", "24", "--strategy", "bsr"]
ASK = ["--bands", "3", "--noise-multiplier", "4", "--delta", "1e-5", "--accuracy", "0.05"]


@pytest.mark.slow
def test_all_methods_with_times_and_details(command: Command) -> None:
    """Every proven method has a row with its time, and says how it found its number."""
    outcome = command("epsilon", *RUN, *ASK, "--method", "all", "--budget", "1e5", "--json")
    content = json.loads(outcome.stdout)
    rows = {row["method"]: row for row in content["results"]}
    assert (outcome.status, list(rows)) == (0, ["gaussian", "renyi", "conditional", "gram"])
    assert all(row["seconds"] > 0 and row["kind"] == "proven" for row in rows.values())
    assert content["best"]["epsilon"] == min(row["epsilon"] for row in rows.values())
    assert {"direction", "order"} <= rows["renyi"]["details"].keys()
    assert rows["conditional"]["details"]["bad_event"] < 1e-5


def test_the_budget_is_the_librarys(command: Command) -> None:
    """--budget is what `account` takes; the table names the effective bandwidth that it bought."""
    words = [*RUN, *ASK, "--method", "renyi", "--direction", "remove"]
    outcome = command("epsilon", *words, "--budget", "100")
    plan = hs.Plan(
        sampling=hs.BallsInBins(bins=8), steps=24, strategy=hs.strategies.bsr(24, bands=3)
    )
    expected = hs.account(
        plan, noise_multiplier=4.0, method="renyi", direction="remove", budget=100.0
    ).answer(delta=1e-5)
    assert outcome.status == 0
    assert f"effective bandwidth {expected.details['effective_bandwidth']}" in outcome.stdout
    assert expected.value > hs.account(
        plan, noise_multiplier=4.0, method="renyi", direction="remove"
    ).epsilon(1e-5)
