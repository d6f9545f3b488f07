"""Digits with settings that change while training, in small."""

from __future__ import annotations

import json

import pytest

import adaptive_digits


def test_the_parts_are_disjoint() -> None:
    """All 1,797 digits, each in one part."""
    parts = adaptive_digits.load()
    assert [len(part.labels) for part in parts] == [1_200, 237, 360]
    assert sum(int(part.labels.sum()) for part in parts) == 8_070


@pytest.mark.slow
def test_small_mode(capsys, tmp_path) -> None:
    """Prints and writes; noise that falls on plateaus allows more steps than all noises alike."""
    assert adaptive_digits.main(["--small", "--output", str(tmp_path)]) == 0
    assert "own budgets" in capsys.readouterr().out
    panels = json.loads((tmp_path / "adaptive_digits.json").read_text())["panels"]
    steps, right, budgets = (
        {curve["label"]: curve["y"][0] for curve in panel["curves"]} for panel in panels
    )
    assert steps["Renyi"] > 2 * steps["fixed"]
    assert min(right.values()) > 50
    assert budgets["own budgets"] > budgets["the smallest budget for all"] + 10
