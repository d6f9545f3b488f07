"""The CIFAR table of the b-min-sep paper: the stored full run, and the small mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import b_min_sep_cifar_table as script
from b_min_sep_search import best_proven, estimated, verified
from hypothesis_strategies import thinned
from in_one_test import in_one_test

STORED = Path(__file__).parents[2] / "docs/papers/figures/b_min_sep_cifar_table.json"
# Around the best number of bands at each epsilon; the script itself tries all.
NEIGHBOURS = {0.5: (1, 2, 4), 1.0: (2, 4, 8), 2.0: (4, 8, 16), 4.0: (8, 16, 32), 8.0: (16, 32, 64)}
MONTE_CARLO = ("balls-in-bins", "b-min-sep")


def errors_of(path):
    """MSE by row and epsilon."""
    entries = json.loads(path.read_text())["entries"]
    return {(entry["row"], entry["epsilon"]): entry["mse"] for entry in entries}


def test_the_stored_table_is_complete():
    """Six rows, five epsilons."""
    assert set(errors_of(STORED)) == {
        (row, epsilon) for row in script.PRINTED for epsilon in script.EPSILONS
    }


@in_one_test
@pytest.mark.parametrize("row", MONTE_CARLO)
@pytest.mark.parametrize("epsilon", script.EPSILONS)
def test_the_stored_table_against_the_paper(row, epsilon):
    """Optimistic numbers within 2 %; verified ones no worse, and never below what they verify."""
    stored = errors_of(STORED)
    optimistic = f"{row}, optimistic"
    estimated, proved = stored[optimistic, epsilon], stored[row, epsilon]
    assert estimated == pytest.approx(script.printed(optimistic, epsilon), rel=0.02)
    assert estimated < proved <= script.printed(row, epsilon)


@pytest.mark.slow
def test_small_mode(capsys, tmp_path):
    """Prints and writes; the estimate agrees with the full run."""
    assert script.main(["--small", "--output", str(tmp_path)]) == 0
    rows = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == ["DP-SGD", "cyclic Poisson", "balls-in-bins, optimistic"]
    assert (tmp_path / "b_min_sep_cifar_table.png").stat().st_size > 10_000
    found, stored = errors_of(tmp_path / STORED.name), errors_of(STORED)
    key = ("balls-in-bins, optimistic", 2.0)
    assert found[key] == pytest.approx(stored[key], rel=0.01)


@pytest.mark.long
def test_verification_adds_little():
    """Balls-in-bins with 300,000 draws, a tenth of those of the full run."""
    aim = script.target(script.balls_in_bins, 2.0)
    estimate = estimated(aim, "bsr", 64, guess=920.0, seed=script.SEED)
    proven = verified(aim, estimate, draws=300_000, seed=script.SEED)
    assert 1 < proven.mse / estimate.mse < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", thinned(NEIGHBOURS, normal=1))
def test_printed_digits(epsilon):
    """DP-SGD within 0.1 %, cyclic Poisson within 0.2 % of the paper."""
    aim = script.target(script.cyclic_poisson, epsilon)
    single = best_proven(aim, (1,))
    assert single.mse == pytest.approx(script.printed("DP-SGD", epsilon), rel=1e-3)
    best = best_proven(aim, NEIGHBOURS[epsilon])
    assert best.mse == pytest.approx(script.printed("cyclic Poisson", epsilon), rel=2e-3)
