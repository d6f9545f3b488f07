"""`--baselines`: baselines_asked beside the answer, never among the results."""

from __future__ import annotations

import json

from cli.conftest import FULL_BATCH, Command

ONE_BLOCK = ["--sampling", "random-allocation", "--picks", "1", "--out-of", "50", "--steps", "50"]
ASKED = ["--noise-multiplier", "2", "--delta", "1e-5", "--accuracy", "0.02", "--baselines"]


def test_a_second_table_says_what_it_is_not(command: Command) -> None:
    """Three baselines_asked for one block, below the answer."""
    outcome = command("epsilon", *ONE_BLOCK, *ASKED)
    answer, baselines_asked = outcome.stdout.split("for comparison, not guarantees of this run:")
    assert outcome.status == 0
    assert "profile" in answer
    assert "shuffling" not in answer
    for name in ("poisson", "no-amplification", "shuffling"):
        assert name in baselines_asked


def test_json_keeps_them_apart(command: Command) -> None:
    """Under a key of their own, with the quantity that was asked for."""
    content = json.loads(command("epsilon", *ONE_BLOCK, *ASKED, "--json").stdout)
    names = [line["name"] for line in content["baselines"]]
    assert names == ["poisson", "no-amplification", "shuffling"]
    assert all({"summary", "epsilon", "seconds"} <= line.keys() for line in content["baselines"])
    assert not {result["method"] for result in content["results"]} & set(names)


def test_delta_has_them_too(command: Command) -> None:
    """And only those that there are for the scheme."""
    question = ["--noise-multiplier", "3", "--epsilon", "2", "--baselines", "--json"]
    content = json.loads(command("delta", *FULL_BATCH, *question).stdout)
    assert [line["name"] for line in content["baselines"]] == ["poisson", "no-amplification"]
    assert all("delta" in line for line in content["baselines"])


def test_without_the_flag_there_are_none(command: Command) -> None:
    """No key, no table."""
    question = ["--noise-multiplier", "3", "--delta", "1e-5"]
    assert "baselines" not in json.loads(
        command("epsilon", *FULL_BATCH, *question, "--json").stdout
    )
    assert "comparison" not in command("epsilon", *FULL_BATCH, *question).stdout


def test_a_cap_on_participations(command: Command) -> None:
    """--max-participations is a parameter of poisson sampling, shown with the plan."""
    poisson = ["--sampling", "poisson", "--rate", "0.5", "--steps", "40"]
    question = ["--noise-multiplier", "3", "--delta", "1e-5"]
    capped = command("epsilon", *poisson, "--max-participations", "2", *question)
    assert "max participations 2" in capped.stdout
    refused = command("epsilon", *FULL_BATCH, "--max-participations", "2", *question)
    assert refused.status == 2
    assert "--max-participations must be left out" in refused.stderr
