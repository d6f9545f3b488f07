"""No claim is accepted on numbers that somebody wrote into a checkpoint."""

from __future__ import annotations

import copy
import json
import os
import stat
import subprocess
import sys

import pytest

import hockeystick as hs
from hockeystick.errors import HockeystickError, InvalidParameter, VerificationFailed
from hockeystick.montecarlo.checkpoint import user_key
from montecarlo.conftest import PLAN, estimated

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_pieces")]

TRUE = {"noise_multiplier": 1.5, "epsilon": 1.0, "delta": 0.2, "seed": 6}
# At this noise delta(1) is above 0.5.
FALSE = {**TRUE, "noise_multiplier": 0.3}


def verified(path, claim, **options):
    """The verdict, with a checkpoint."""
    return hs.verify(PLAN, execution=hs.Execution(checkpoint=path, **options), **claim)


@pytest.fixture(name="path")
def _path(tmp_path):
    return tmp_path / "draws.json"


@pytest.fixture(name="home", autouse=True)
def _home(tmp_path, monkeypatch):
    """A state folder without a key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "hockeystick"


def pilot_of_the_false_claim(path):
    """A checkpoint of the false claim with what was really drawn."""
    with pytest.raises(VerificationFailed):
        verified(path, FALSE)
    return json.loads(path.read_text(encoding="utf-8"))


def totals(factor):
    """All sums of payoffs times the factor."""

    def change(content):
        for piece in content["pieces"].values():
            piece[1] = [[one * factor for one in row] for row in piece[1]]
            piece[2] = [[one * factor**2 for one in row] for row in piece[2]]
            piece[3] = [[one * abs(factor) for one in row] for row in piece[3]]

    return change


FORGERIES = {
    "zeros": totals(0.0),
    "negative": totals(-1.0),
    "smaller": totals(1e-3),
    "another seed": lambda content: content.update(seed="12345"),
    "no tag": lambda content: content.pop("tag", None),
    "empty tag": lambda content: content.update(tag=""),
    "tag of text": lambda content: content.update(tag="\u00e9" * 64),
    "tag as a number": lambda content: content.update(tag=5),
    "more draws": lambda content: [piece.__setitem__(0, 10**9) for piece in pieces(content)],
    "no draws": lambda content: [piece.__setitem__(0, 0) for piece in pieces(content)],
    "draws as text": lambda content: [piece.__setitem__(0, "9") for piece in pieces(content)],
    "sums as text": lambda content: [piece.__setitem__(1, "0") for piece in pieces(content)],
    "sums of another shape": lambda content: [
        piece.__setitem__(1, [0]) for piece in pieces(content)
    ],
    "shorter pieces": lambda content: [piece.pop() for piece in pieces(content)],
    "pieces as a list": lambda content: content.update(pieces=list(pieces(content))),
    "another question": lambda content: content.update(question="0" * 64),
    "the old format": lambda content: content.update(format="hockeystick draws 1"),
}


def pieces(content):
    """What the pieces came to."""
    return content["pieces"].values()


def test_a_forged_checkpoint_is_refused(path):
    """A claim that is false, with a file that says otherwise: one sentence, and the file stays."""
    true = pilot_of_the_false_claim(path)
    for name, change in FORGERIES.items():
        content = copy.deepcopy(true)
        change(content)
        assert content != true, name
        path.write_text(json.dumps(content), encoding="utf-8")
        before = path.read_bytes()
        with pytest.raises(InvalidParameter, match=r"^checkpoint must be a new file, or one"):
            verified(path, FALSE)
        assert path.read_bytes() == before, name


def negative_trials(content):
    """Sums of 0 in pilots, and negative ones in trials."""
    for place, piece in content["pieces"].items():
        piece[1] = [
            [-abs(one) if place.startswith("1.") else 0.0 for one in row] for row in piece[1]
        ]
        piece[2], piece[3] = ([[0.0] * len(row) for row in part] for part in piece[2:])


@pytest.mark.parametrize("change", [totals(0.0), totals(1e-6), negative_trials])
def test_a_false_claim_is_not_accepted_however_often_its_file_is_forged(path, change):
    """First the pilot is forged, then each trial that is drawn because of it."""
    with pytest.raises(VerificationFailed):
        verified(path, FALSE)
    for _ in range(10):
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(HockeystickError) as caught:
            verified(path, FALSE)
        assert isinstance(caught.value, (InvalidParameter, VerificationFailed))


def test_infinite_and_repeated_numbers_are_refused(path):
    """NaN passes no comparison, and of a name that occurs twice the last one would count."""
    text = json.dumps(pilot_of_the_false_claim(path))
    for changed in (
        text.replace('"seed": "', '"seed": "5", "seed": "', 1),
        text.replace('"pieces": {', '"pieces": {}, "pieces": {', 1),
        text.replace("[[", "[[NaN, ", 1),
        text[: len(text) // 2],
        text + text,
        "[" * 100_000,
    ):
        assert changed != text
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(InvalidParameter, match=r"^checkpoint"):
            verified(path, FALSE)


def test_a_checkpoint_of_another_claim_is_refused(path):
    """Even one that was accepted, of the same plan."""
    verified(path, TRUE)
    for change in ({"noise_multiplier": 1.4}, {"epsilon": 0.9}, {"delta": 0.1}, {"seed": 7}):
        with pytest.raises(InvalidParameter, match=r"^checkpoint"):
            verified(path, {**TRUE, **change})


def test_the_key_is_made_once_and_private(path, home):
    """Mode 600 in a folder of mode 700; the second question uses the same."""
    verified(path, TRUE)
    key = home / "checkpoint.key"
    first = key.read_text()
    assert len(bytes.fromhex(first)) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    verified(path, TRUE)
    assert key.read_text() == first
    assert first not in path.read_text()


def test_without_the_key_nothing_is_resumed(path, home, tmp_path, monkeypatch):
    """Another user, or another machine: the draws are made again in a new file."""
    verified(path, TRUE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(InvalidParameter, match="the same checkpoint key"):
        verified(path, TRUE)
    verified(tmp_path / "new.json", TRUE)


def test_a_key_of_the_caller(path, home, fresh_draws):
    """It takes the place of the user's, which is then neither read nor made."""
    key = os.urandom(32)
    verified(path, TRUE, checkpoint_key=key)
    assert not home.exists()
    fresh_draws.clear()
    verified(path, TRUE, checkpoint_key=key)
    assert fresh_draws == []
    for other in (os.urandom(32), None):
        with pytest.raises(InvalidParameter, match="the same checkpoint key"):
            verified(path, TRUE, checkpoint_key=other)


@pytest.mark.parametrize("key", [b"short", "text" * 20, 5, bytearray(40)])
def test_keys_that_are_none(key):
    """Refused when they are given, and not shown."""
    with pytest.raises(InvalidParameter, match=r"^checkpoint_key") as caught:
        hs.Execution(checkpoint_key=key)
    assert "texttext" not in str(caught.value)
    assert "checkpoint_key" not in repr(hs.Execution(checkpoint_key=bytes(32)))


@pytest.mark.parametrize(
    ("content", "mode"),
    [("", 0o600), ("zz" * 32, 0o600), ("ab" * 8, 0o600), ("ab" * 32, 0o644), ("ab" * 32, 0o660)],
)
def test_a_key_that_others_know_is_not_used(path, home, fresh_draws, content, mode):
    """Nor a damaged one; before anything is drawn."""
    home.mkdir(parents=True)
    key = home / "checkpoint.key"
    key.write_text(content)
    key.chmod(mode)
    with pytest.raises(InvalidParameter, match=r"^checkpoint_key must be"):
        verified(path, TRUE)
    assert fresh_draws == []
    assert key.read_text() == content


def test_a_folder_that_cannot_be_written(path, tmp_path, monkeypatch, fresh_draws):
    """A file where the folder should be; one sentence before anything is drawn."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(HockeystickError, match=r"^checkpoint_key must be"):
        verified(path, TRUE)
    assert fresh_draws == []


@pytest.mark.slow
def test_two_processes_make_one_key(home):
    """Whoever is first; the other one reads it."""
    code = "from hockeystick.montecarlo.checkpoint import user_key; print(user_key().hex())"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {one.communicate(timeout=60)[0].strip() for one in started}
    assert said == {(home / "checkpoint.key").read_text()}
    assert [one.name for one in home.iterdir()] == ["checkpoint.key"]


def test_estimates_go_on_as_before(path):
    """All questions share the file's form."""
    assert estimated(checkpoint=path) == estimated(checkpoint=path)


@pytest.mark.parametrize("what", ["zeros", "pipe", "folder of others"])
def test_a_key_that_is_no_secret(home, what):
    """Known digits, something that never ends, or a file that others can replace."""
    home.mkdir(parents=True, mode=0o700)
    key = home / "checkpoint.key"
    if what == "pipe":
        os.mkfifo(key, 0o600)
    else:
        key.write_text("00" * 32 if what == "zeros" else "0123456789abcdef" * 4)
        key.chmod(0o600)
    if what == "folder of others":
        assert len(user_key()) == 32
        home.chmod(0o777)
    with pytest.raises(InvalidParameter, match=r"^checkpoint_key must be"):
        user_key()
