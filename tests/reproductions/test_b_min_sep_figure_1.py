"""Figure 1 of the b-min-sep paper: the law of the chain, and the small mode."""

from __future__ import annotations

import json

import numpy as np
import pytest

import b_min_sep_figure_1 as script
import hockeystick as hs


@pytest.mark.parametrize("warm", [False, True])
def test_the_law_by_a_matrix(warm):
    """Powers of the transition matrix: a state for each step of rest, and one for being free."""
    sampling = hs.MinSep(rate=0.3, separation=5, warm_start=warm)
    move = np.zeros((5, 5))
    move[0, 0], move[0, 4] = 0.7, 0.3
    move[range(1, 5), range(4)] = 1.0
    law = np.eye(5)[0]
    if warm:
        law = np.linalg.matrix_power(move, 500)[0]
    expected = []
    for _ in range(20):
        expected.append(0.3 * law[0])
        law = law @ move
    np.testing.assert_allclose(script.joining(sampling, 20), expected, rtol=1e-12)


@pytest.mark.slow
def test_small_mode(capsys, tmp_path):
    """Prints and writes; drawn batches have the expected sizes, a warm start never varies."""
    assert script.main(["--small", "--output", str(tmp_path)]) == 0
    assert script.WARM in capsys.readouterr().out
    assert (tmp_path / "b_min_sep_figure_1.png").stat().st_size > 10_000
    content = json.loads((tmp_path / "b_min_sep_figure_1.json").read_text())
    curves = {line["label"]: line for line in content["curves"]}
    np.testing.assert_allclose(curves[script.WARM]["y"], 50.0, rtol=1e-12)
    expected = dict(zip(curves[script.COLD]["x"], curves[script.COLD]["y"], strict=True))
    drawn = curves[script.DRAWN]
    for step, size, two_errors in zip(drawn["x"], drawn["y"], drawn["error"], strict=True):
        assert abs(size - expected[step]) < 2 * two_errors
    assert max(curves[script.COLD]["y"]) > 2.5 * 50
    assert min(curves[script.COLD]["y"]) < 0.6 * 50
