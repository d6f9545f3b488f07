"""The arXiv table of the b-min-sep paper: the stored full run, the graph, and the small mode."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import b_min_sep_arxiv_table as script
import co_authorship

STORED = Path(__file__).parents[2] / "docs/papers/figures/b_min_sep_arxiv_table.json"


def errors_of(path):
    """MSE by row and epsilon."""
    entries = json.loads(path.read_text())["entries"]
    return {(entry["row"], entry["epsilon"]): entry["mse"] for entry in entries}


def test_the_stored_table_is_complete():
    """All rows but the verified one, five epsilons."""
    rows = [row for row in script.PRINTED if row != script.B_MIN_SEP]
    assert set(errors_of(STORED)) == {(row, epsilon) for row in rows for epsilon in script.EPSILONS}


@pytest.mark.parametrize("row", [script.POISSON_ONE, script.LAST_STEP])
def test_the_rows_that_agree_with_the_paper(row):
    """Within 0.1 %: one example for each user, and the error of the last step."""
    stored = errors_of(STORED)
    found = [stored[row, epsilon] for epsilon in script.EPSILONS]
    np.testing.assert_allclose(found, script.PRINTED[row], rtol=1e-3)


@pytest.mark.parametrize("epsilon", script.EPSILONS)
def test_the_order_of_the_rows(epsilon):
    """b-min-sep for a user alone is lowest, below the paper's recursion for the same rate too."""
    stored = errors_of(STORED)
    ours = stored[script.OPTIMISTIC, epsilon]
    assert ours < stored[script.POISSON, epsilon]
    assert ours < stored[script.UNAMPLIFIED, epsilon]
    assert ours < stored[script.RECURSION, epsilon]
    assert stored[script.POISSON_ONE, epsilon] < stored[script.POISSON, epsilon]


def test_authors_of_the_graph():
    """Two authors or more for most papers, few with many papers, none with more than two left."""
    whole = co_authorship.co_authorship(12_000, 11_000, seed=3)
    authors = np.diff(whole.starts)
    assert np.mean(authors >= 2) > 0.99
    assert whole.most_examples_per_user > 20 * np.median(whole.examples_per_user)
    bounded = co_authorship.bounded_graph(scale=100)
    assert bounded.most_examples_per_user == script.EXAMPLES_PER_USER
    assert bounded.examples == pytest.approx(3_000, rel=0.1)


@pytest.mark.slow
def test_small_mode(capsys, tmp_path):
    """Prints and writes; proven rows agree with the full run."""
    assert script.main(["--small", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    found, stored = errors_of(tmp_path / STORED.name), errors_of(STORED)
    assert (tmp_path / "b_min_sep_arxiv_table.png").stat().st_size > 10_000
    for row in (script.POISSON_ONE, script.UNAMPLIFIED, script.LAST_STEP):
        assert row in printed
        assert found[row, 1.0] == pytest.approx(stored[row, 1.0], rel=1e-3)


@pytest.mark.long
def test_the_estimate_agrees_with_the_full_run():
    """Another draw of the graph, so another rate."""
    stored = errors_of(STORED)[script.OPTIMISTIC, 1.0]
    assert script.small_estimate().mse == pytest.approx(stored, rel=0.02)
