"""Nodes of a normal variable that are further apart on one side."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from hockeystick.analyses.gram.law import LATTICES
from hockeystick.analyses.gram.law import spaced_nodes as nodes_of

spaced_nodes = partial(nodes_of, settings=LATTICES)


@pytest.mark.parametrize("remove", [True, False])
def test_the_side_that_counts_is_evenly_spaced(remove):
    """As finely as asked for; on the other side distances grow, to e^(3.5^2 / 8) and no further."""
    nodes = spaced_nodes(-6.0, 6.0, step=0.1, remove=remove, fewest=4)
    assert nodes[0] == -6.0
    assert nodes[-1] == 6.0
    width = np.diff(nodes)
    if not remove:
        width = width[::-1]
    middle = int(np.sum(np.cumsum(width) < 6.0))
    np.testing.assert_allclose(width[middle + 1 :], width[-1], rtol=1e-6)
    assert 0.095 < width[-1] <= 0.1
    assert np.all(np.diff(width) <= 1e-9)
    assert width[0] / width[-1] == pytest.approx(np.exp(3.5**2 / 8), rel=1e-3)


def test_directions_mirror_each_other():
    """What removing does below, adding does above."""
    below = spaced_nodes(-7.0, 5.0, step=0.3, remove=True, fewest=4)
    above = spaced_nodes(-5.0, 7.0, step=0.3, remove=False, fewest=4)
    np.testing.assert_allclose(below, -above[::-1], atol=1e-12)


def test_the_number_of_nodes_has_limits():
    """A wide step still gives the fewest, a tiny one the most."""
    assert spaced_nodes(-1.0, 1.0, step=50.0, remove=True, fewest=6).size == 6
    assert spaced_nodes(-9.0, 9.0, step=1e-9, remove=True, fewest=6).size == LATTICES.most_nodes


def test_a_quarter_is_saved():
    """Against equal distances, for the tails of the default accuracy."""
    size = spaced_nodes(-6.7, 6.7, step=0.1, remove=True, fewest=4).size
    assert size < 0.75 * (13.4 / 0.1 + 1)
