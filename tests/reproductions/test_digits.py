"""Digits: the stored full run, and the small mode."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean

import pytest

import digits
import hockeystick as hs
from private_training import half_width
from scheme_comparison import DP_SGD, SCHEMES, Setting

STORED = Path(__file__).parents[2] / "docs/images/digits.json"
PAGE = Path(__file__).parents[2] / "docs/training.md"
SETTING = Setting(digits.EXAMPLES, digits.STEPS_PER_EPOCH, 240, digits.DELTA)


def entries_of(path):
    """Entries by scheme and epsilon."""
    accuracy, _ = json.loads(path.read_text())["panels"]
    return {(entry["scheme"], entry["epsilon"]): entry for entry in accuracy["entries"]}


def test_the_stored_run_is_complete():
    """Four schemes, three epsilons, a share of 360 digits for each of the seeds."""
    stored = entries_of(STORED)
    assert set(stored) == {(scheme, epsilon) for scheme in SCHEMES for epsilon in digits.EPSILONS}
    for entry in stored.values():
        assert len(entry["accuracies"]) == digits.FULL.seeds
        assert all(abs(360 * a - round(360 * a)) < 0.01 for a in entry["accuracies"])
        assert entry["accuracy"] == pytest.approx(fmean(entry["accuracies"]), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [DP_SGD, "cyclic Poisson, BandMF"])
@pytest.mark.parametrize("epsilon", digits.EPSILONS)
def test_the_stored_noise_is_enough(scheme, epsilon):
    """Calibrated again, and the error that goes with it; for the schemes that take no time."""
    entry = entries_of(STORED)[scheme, epsilon]
    plan = SCHEMES[scheme](SETTING, entry["bands"])
    noise = entry["noise_multiplier"]
    # It is stored with five digits after the point.
    found = hs.account(plan, noise_multiplier=noise * (1 + 1e-4)).epsilon(digits.DELTA)
    assert 0.97 * epsilon < found <= epsilon
    assert entry["mse"] == pytest.approx(noise**2 * plan.strategy.mean_squared_error(), rel=1e-4)


def test_the_page_shows_the_stored_numbers():
    """Accuracy with its interval, in the order of the table."""
    page = PAGE.read_text()
    stored = entries_of(STORED)
    for scheme in SCHEMES:
        row = [stored[scheme, epsilon] for epsilon in digits.EPSILONS]
        cells = [f"{100 * e['accuracy']:.1f} ± {100 * e['half_width']:.1f}" for e in row]
        assert f"| {scheme} | {' | '.join(cells)} |" in page


def test_intervals():
    """Student's, by hand: 12.706 standard errors for two values."""
    assert half_width([0.1, 0.3]) == pytest.approx(12.7062 * 0.1, rel=1e-4)
    assert half_width([0.5]) == math.inf


def test_the_parts_are_disjoint():
    """All 1,797 digits, each in one part."""
    parts = digits.load()
    assert [len(part) for part in parts] == [1_200, 237, 360]
    assert sum(int(part.tensors[1].sum()) for part in parts) == 8_070


@pytest.mark.slow
def test_small_mode(capsys, tmp_path):
    """Prints and writes; 32 private steps are far better than chance."""
    assert digits.main(["--small", "--output", str(tmp_path)]) == 0
    assert "without privacy" in capsys.readouterr().out
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    found = entries_of(tmp_path / "digits.json")
    assert set(found) == {(scheme, 4.0) for scheme in SCHEMES}
    assert all(0.6 < entry["accuracy"] < 0.95 for entry in found.values())
