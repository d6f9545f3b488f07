"""`hockeystick check`: what another library recorded, and what it claimed."""

from __future__ import annotations

import json

import pytest

HISTORY = [[1.0, 0.1, 20], [2.0, 0.1, 10]]


@pytest.fixture
def record(tmp_path):
    """A function that writes a file and returns its path."""

    def write(content):
        path = tmp_path / "record.json"
        path.write_text(json.dumps(content))
        return path

    return write


@pytest.mark.parametrize(
    ("claimed", "verdict", "status"),
    [(1.0, "too small", 1), (50.0, "larger than needed", 0), (None, None, 0)],
)
def test_claims_are_judged(command, record, claimed, verdict, status):
    """A claim below the proven lower bound ends with status 1."""
    content = {"history": HISTORY, "delta": 1e-5, "epsilon": claimed}
    done = command("check", record(content), "--json")
    found = json.loads(done.stdout)
    assert done.status == status
    assert found["verdict"] == verdict
    assert 1.0 < found["lower"] <= found["upper"] < 1.002 * found["lower"]
    between = command("check", record(content), "--epsilon", found["upper"])
    assert between.status == 0
    assert "right: between the proven bounds" in between.stdout


def test_a_checkpoint_of_opacus(command, tmp_path):
    """As `PrivacyEngine.save_checkpoint` writes it; nothing in it is run."""
    torch = pytest.importorskip("torch", reason="Opacus' files are PyTorch's")

    path = tmp_path / "checkpoint.pt"
    history = [tuple(one) for one in HISTORY]
    state = {"history": history, "mechanism": "rdp"}
    torch.save({"privacy_accountant_state_dict": state, "module_state_dict": {}}, path)
    done = command("check", path, "--delta", 1e-5, "--json")
    assert done.status == 0
    assert json.loads(done.stdout)["upper"] > 1.0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"history": HISTORY}, "delta must be given, or in the file"),
        ({"history": [], "delta": 1e-5}, "accountant must be"),
        ({"history": HISTORY, "delta": 2}, "delta must be in (0, 1)"),
        ({"history": HISTORY, "delta": 1e-5, "epsilon": -1}, "epsilon must be"),
        ({"steps": 3}, "file must be a JSON object with `history`"),
    ],
)
def test_what_cannot_be_judged(command, record, content, text):
    """One line on stderr and status 2."""
    done = command("check", record(content))
    assert done.status == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_other_files(command, tmp_path):
    """A missing file, and one that is neither JSON nor a checkpoint."""
    assert command("check", tmp_path / "none.json").status == 2
    path = tmp_path / "notes.txt"
    path.write_text("epsilon was 3")
    done = command("check", path)
    assert done.status == 2
    assert "file must be" in done.stderr
