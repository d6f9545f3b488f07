"""The object that `--json` prints."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import hockeystick as hs
from cli.conftest import FULL_BATCH, POISSON, Command
from hockeystick.cli.output import json_text
from hockeystick.guarantee import Answer

NOISE = ["--noise-multiplier", "2"]
COARSE = ["--accuracy", "0.02"]
ASKED: dict[str, list[str]] = {
    "epsilon": ["epsilon", *POISSON, *NOISE, "--delta", "1e-5", *COARSE],
    "delta": ["delta", *POISSON, *NOISE, "--epsilon", "1", *COARSE],
    "noise_multiplier": ["calibrate", *POISSON, "--epsilon", "1", "--delta", "1e-5", *COARSE],
}
PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
WITHOUT_DRAWS = [name for name in hs.methods(PLAN) if name != "monte-carlo"]


def refuse(token: str) -> None:
    """No NaN, no Infinity."""
    raise AssertionError(token)


def parse(text: str) -> Any:
    """Strictly valid JSON, and nothing after it."""
    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("quantity", ASKED)
@pytest.mark.parametrize("method", ["auto", "all"])
def test_the_object_follows_the_contract(command: Command, quantity: str, method: str) -> None:
    """One object with plan, results, best and version; every result has the agreed keys."""
    outcome = command(*ASKED[quantity], "--method", method, "--json")
    content = parse(outcome.stdout)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert content["version"] == hs.__version__
    assert content["plan"]["sampling"] == {"scheme": "poisson", "rate": 0.1}
    assert content["plan"]["steps"] == 20
    assert content["question"]["quantity"] == quantity
    assert (content["adjacency"], content["unit"]) == ("zero-out / add-remove", "example")
    assert len(content["results"]) == (len(WITHOUT_DRAWS) if method == "all" else 1)
    for result in content["results"]:
        assert {"method", "kind", quantity, "lower", "seconds"} <= result.keys()
        assert result["seconds"] >= 0
    proven = [result for result in content["results"] if result["kind"] == "proven"]
    assert content["best"] == min(proven, key=lambda result: result[quantity])


def test_numbers_are_the_library_s(command: Command) -> None:
    """Nothing is rounded on the way."""
    content = parse(command(*ASKED["epsilon"], "--json").stdout)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
    expected = hs.account(plan, noise_multiplier=2.0, accuracy=0.02).answer(delta=1e-5)
    best = content["best"]
    assert Answer(best["epsilon"], best["lower"], best["method"], best["kind"]) == expected


def test_the_question_is_beside_the_plan(command: Command) -> None:
    """Everything that the answer depends on can be read from the object."""
    words = ["calibrate", *FULL_BATCH, "--examples", "7", "--epsilon", "1", "--delta", "1e-5"]
    content = parse(command(*words, "--direction", "add", "--json").stdout)
    assert content["question"] == {
        "quantity": "noise_multiplier",
        "epsilon": 1.0,
        "delta": 1e-5,
        "accuracy": 1e-3,
        "direction": "add",
    }
    assert (content["plan"]["examples"], content["plan"]["expected_batch_size"]) == (7, 7.0)
    assert content["best"]["reached_epsilon"] <= 1.0
    assert content["best"]["evaluations"] >= 1


def test_an_infinite_epsilon_is_a_string(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON has no infinity, so the word stands for it."""
    infinite = Answer(math.inf, math.inf, "gaussian", "proven")
    monkeypatch.setattr(hs.Guarantee, "answer", lambda self, **question: infinite)
    content = parse(command("epsilon", *FULL_BATCH, *NOISE, "--delta", "1e-5", "--json").stdout)
    assert (content["best"]["epsilon"], content["best"]["lower"]) == ("inf", "inf")


def test_nan_is_never_printed() -> None:
    """A NaN would be a bug; it must not reach a reader as if it were an answer."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"inside": [{"epsilon": math.nan}]})
    assert parse(json_text({"inside": [(-math.inf, 1.0)]})) == {"inside": [["-inf", 1.0]]}


def test_failed_methods_are_listed_with_their_error(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method without a number has null and the reason."""

    def fails(*arguments: object, method: str, **options: object) -> hs.Calibration:
        if method == "profile":
            raise hs.errors.CalibrationError("did not settle")
        return hs.calibrate(*arguments, method=method, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("hockeystick.cli.noise.find_noise", fails)
    content = parse(command(*ASKED["noise_multiplier"], "--method", "all", "--json").stdout)
    failed = next(result for result in content["results"] if result["method"] == "profile")
    assert (failed["noise_multiplier"], failed["lower"]) == (None, None)
    assert failed["error"] == "did not settle"
    assert content["best"]["method"] == "renyi"
