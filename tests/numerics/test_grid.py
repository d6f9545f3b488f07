"""Grids: increasing, covering, and as fine as they were asked to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick._numerics.law import Resolution, Side, matched_grid, moments
from hockeystick.profile.expressions.discrete import from_pmfs
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hypothesis_strategies import law_of, pairs, quick


@quick
@given(
    pair=pairs(),
    step=st.floats(0.005, 2),
    tail=st.floats(-250, -1).map(lambda e: 10.0**e),
    nats=st.floats(2, 30),
    beyond=st.floats(0, 5000),
)
def test_nodes_increase_and_cover(pair, step, tail, nats, beyond):
    """Whatever the law: strictly increasing nodes from one end to the other."""
    law = law_of(pair)
    low, high = law.loss[0] - beyond, law.loss[-1] + beyond / 3
    nodes = matched_grid(law, low, high, Resolution(step, tail, nats))
    assert nodes[0] == low
    assert nodes[-1] >= high
    assert nodes.size >= 2
    assert np.all(np.diff(nodes) > 0)


@pytest.mark.parametrize("step", [0.2, 0.05, 0.01])
def test_spacing_follows_the_standard_deviation(step):
    """At the centre of a Gaussian law the nodes are at most about `step` deviations apart."""
    law = GaussianPair(2.0).law(Side.UPPER, Resolution(step, 1e-15, 10.0))
    nodes = matched_grid(law, law.loss[0], law.loss[-1], Resolution(step, 1e-15, 10.0))
    spread = moments(law)
    for mean in (spread.mean_q, spread.mean_p):
        nearest = np.searchsorted(nodes, mean)
        assert nodes[nearest] - nodes[nearest - 1] <= 1.1 * step * spread.sd_q


def test_a_single_loss_still_has_a_cell():
    """Equal ends give two nodes."""
    law = from_pmfs([1.0], [1.0]).law(Side.UPPER, None)
    nodes = matched_grid(law, 0.0, 0.0, Resolution(0.1, 1e-10, 10.0))
    assert nodes.size == 2
    assert nodes[1] > nodes[0] == 0.0


def test_wide_cells_end_at_zero():
    """No wide cell contains the loss 0: P- and Q-mass never mix over one."""
    law = from_pmfs([1e-300, 1.0], [1.0, 1e-300]).law(Side.UPPER, None)
    nodes = matched_grid(law, -700.0, 700.0, Resolution(1.0, 1e-10, 30.0))
    after = np.searchsorted(nodes, 0.0)
    assert nodes[after] == 0.0 or nodes[after] - nodes[after - 1] <= 1.0
