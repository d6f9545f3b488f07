"""Commands that draw: `verify`, and the method monte-carlo of `delta` and `calibrate`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.conftest import POISSON, Command
from hockeystick.montecarlo.drawing import Drawer

RUN = ["--sampling", "min-sep", "--rate", "0.2", "--separation", "2", "--steps", "20"]
STRATEGY = ["--strategy", "bsr", "--bands", "2"]
CLAIM = ["--epsilon", "1", "--delta", "0.01"]
# At which delta is 0.0067.
NOISE = ["--noise-multiplier", "2.4"]


def test_an_accepted_claim(command: Command) -> None:
    """The table says verified and the claimed epsilon, and how many draws it took."""
    words = ["verify", *RUN, *STRATEGY, *CLAIM, *NOISE, "--seed", "1"]
    outcome = command(*words)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "monte-carlo  verified   1.0000" in outcome.stdout
    assert "false acceptance 0.0001" in outcome.stdout
    content = json.loads(command(*words, "--json").stdout)
    assert content["best"]["kind"] == "verified"
    assert content["best"]["epsilon"] == pytest.approx(1.0)
    assert content["best"]["details"]["draws"] > 0


def test_a_claim_that_is_not_accepted(command: Command) -> None:
    """Exit status 1 and one line."""
    words = ["verify", *RUN, *STRATEGY, *CLAIM, "--noise-multiplier", "1", "--seed", "1"]
    outcome = command(*words)
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("error: The claim (epsilon=1, delta=0.01) is not accepted")
    assert outcome.stderr.count("\n") == 1


def test_a_dry_run_shows_the_draws_and_makes_none_of_them(command: Command) -> None:
    """The trials are those that `verify` makes with the same seed.

    A sequential trial takes up to three times the expected draws.
    """
    words = ["verify", *RUN, *STRATEGY, *CLAIM, *NOISE, "--seed", "1"]
    shown = command(*words, "--dry-run")
    assert (shown.status, shown.stderr) == (0, "")
    assert "of the claimed one" in shown.stdout
    (draft,) = json.loads(command(*words, "--dry-run", "--json").stdout)["candidates"]
    made = json.loads(command(*words, "--json").stdout)["best"]["details"]["draws"]
    assert draft["draws"] == sum(trial["draws"] for trial in draft["trials"])
    assert 0 < made <= 3 * draft["draws"]
    assert [(t["direction"], t["part"]) for t in draft["trials"]] == [("remove", "sequential")]
    assert draft["estimated_delta"] < draft["passes_up_to"] < 0.01


@pytest.mark.slow
def test_calibrating_by_draws(command: Command) -> None:
    """Less noise than the proven one, candidates from the noisiest down in a dry run."""
    words = ["calibrate", *RUN, *STRATEGY, *CLAIM, "--method", "monte-carlo", "--seed", "1"]
    words += ["--draws", "30000"]
    found = json.loads(command(*words, "--json").stdout)["best"]
    assert found["kind"] == "verified"
    assert found["noise_multiplier"] < found["details"]["fallback"]
    drafts = json.loads(command(*words, "--dry-run", "--json").stdout)["candidates"]
    noises = [draft["noise_multiplier"] for draft in drafts]
    assert noises == sorted(noises, reverse=True)
    assert noises[-1] == pytest.approx(found["noise_multiplier"], rel=1e-12)
    shown = command(*words, "--dry-run").stdout
    for number in range(1, len(noises) + 1):
        assert f"candidate {number} of {len(noises)}: noise multiplier" in shown
    # What a statement says by itself is more than what was verified.
    said = re.search(r"the proven epsilon, ([\d.]+) at this noise", found["details"]["note"])
    assert said is not None
    assert float(said[1]) > float(CLAIM[CLAIM.index("--epsilon") + 1])
    assert "run.statement(guarantee=...)" in found["details"]["note"]


def test_a_confidence_bound_by_draws(command: Command) -> None:
    """`delta` has the failure probability beside the number."""
    words = ["delta", *RUN, *STRATEGY, "--noise-multiplier", "3", "--epsilon", "1"]
    outcome = command(*words, "--method", "monte-carlo", "--draws", "20000", "--seed", "1")
    assert outcome.status == 0
    assert "monte-carlo  confidence" in outcome.stdout
    assert "failure probability 0.001, draws 20000" in outcome.stdout


def test_epsilon_has_no_draws(command: Command) -> None:
    """Draws bound delta at an epsilon, not the other way round; the message says where."""
    words = ["epsilon", *POISSON, "--noise-multiplier", "2", "--delta", "1e-3"]
    outcome = command(*words, "--method", "monte-carlo")
    assert outcome.status == 2
    assert "hockeystick delta" in outcome.stderr


@pytest.mark.parametrize(
    "option", [["--draws", "7"], ["--seed", "1"], ["--workers", "1"], ["--checkpoint", "x.json"]]
)
def test_options_of_draws_are_not_ignored(command: Command, option: list[str]) -> None:
    """A command that makes no draws refuses them."""
    words = ["delta", *POISSON, "--noise-multiplier", "2", "--epsilon", "1"]
    outcome = command(*words, *option)
    assert outcome.status == 2
    assert outcome.stderr.startswith(f"error: {option[0]} must be left out")


@pytest.mark.parametrize("question", [["delta", "--noise-multiplier", "3"], ["calibrate"]])
def test_there_is_no_curve_of_draws(command: Command, tmp_path: Path, question: list[str]) -> None:
    """Refused before anything is drawn, not after."""
    target = tmp_path / "curve.png"
    words = [*question, *RUN, *STRATEGY, "--epsilon", "1", "--method", "monte-carlo"]
    words += ["--delta", "0.01"] if question == ["calibrate"] else []
    outcome = command(*words, "--plot", target)
    assert outcome.status == 2
    assert outcome.stderr.startswith("error: --plot must be left out for the method monte-carlo")
    assert not target.exists()


def test_a_limit_on_draws_that_is_too_low(command: Command) -> None:
    """The message says how many would be enough."""
    words = ["verify", *RUN, *STRATEGY, *CLAIM, *NOISE, "--seed", "1"]
    outcome = command(*words, "--draws", "10")
    assert outcome.status == 2
    assert outcome.stderr.startswith("error: --draws must be >= ")


def test_ctrl_c_leaves_a_checkpoint(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without --checkpoint there is a new file, and the command goes on from it."""
    words = ["verify", *RUN, *STRATEGY, *CLAIM, *NOISE]
    monkeypatch.chdir(tmp_path)
    sums = Drawer.sums

    def interrupted(self: Drawer, job: object, **options: object) -> object:
        if job.stream[0] == 1:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return sums(self, job, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Drawer, "sums", interrupted)
        outcome = command(*words, "--seed", "1")
    (kept,) = tmp_path.iterdir()
    assert outcome.status == 130
    assert outcome.stderr == f"interrupted: go on with --checkpoint {kept}\n"
    resumed = json.loads(command(*words, "--checkpoint", kept, "--json").stdout)
    fresh = json.loads(command(*words, "--seed", "1", "--json").stdout)
    assert resumed["best"]["details"] == fresh["best"]["details"]
