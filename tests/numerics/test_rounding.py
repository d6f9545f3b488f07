"""Splitting, merging and trimming: which masses are kept, and which way the bound moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick._numerics.law import Law, Side
from hockeystick._numerics.rounding import trim, upper_share
from hockeystick.profile.convolution import regrid
from hypothesis_strategies import law_of, pairs, quick
from in_one_test import in_one_test
from references.laws import measure, p_mass, q_mass
from references.sandwich import assert_between, assert_same_profile


@st.composite
def laws_and_grids(draw):
    """A law and a grid that covers it, coarse or fine, with or without the loss 0."""
    law = law_of(draw(pairs()))
    low, high = law.loss[0], law.loss[-1]
    inner = draw(st.lists(st.floats(0, 1), max_size=6))
    ends = [low - draw(st.floats(0, 2)), high + draw(st.floats(1e-6, 2))]
    zero = [0.0] if draw(st.booleans()) else []
    return law, np.unique([*ends, *(low + (high - low) * share for share in inner), *zero])


def inside(law: Law, nodes) -> bool:
    """Whether the nodes cover the law."""
    return bool(nodes[0] <= law.loss[0] and law.loss[-1] <= nodes[-1])


@quick
@given(case=laws_and_grids())
@pytest.mark.parametrize("side", list(Side))
def test_rounding_keeps_both_masses(case, side):
    """Neither splitting nor merging changes the total P-mass or the total Q-mass."""
    law, nodes = case
    if not inside(law, nodes):
        nodes = np.unique([*nodes, law.loss[0], law.loss[-1] + 1e-6])
    rounded = regrid(law, nodes, side)
    assert float(p_mass(rounded)) == pytest.approx(float(p_mass(law)), rel=1e-12)
    assert float(q_mass(rounded)) == pytest.approx(float(q_mass(law)), rel=1e-12)
    assert rounded.p_infinite == law.p_infinite
    assert rounded.q_zero == law.q_zero
    assert np.all(np.diff(rounded.loss) >= 0)


@quick
@given(case=laws_and_grids())
def test_rounding_is_a_sandwich(case):
    """Merged below, split above, in both directions and at every epsilon."""
    law, nodes = case
    if not inside(law, nodes):
        nodes = np.unique([*nodes, law.loss[0], law.loss[-1] + 1e-6])
    lower, upper = regrid(law, nodes, Side.LOWER), regrid(law, nodes, Side.UPPER)
    assert_between(measure(law), lower, upper)


def test_split_of_one_atom():
    """An atom between two nodes goes to both so that its likelihood ratio is their mean."""
    law = Law(np.array([0.5]), np.array([np.exp(0.5)]), np.array([1.0]))
    split = regrid(law, np.array([0.0, 1.0]), Side.UPPER)
    share = (np.exp(0.5) - 1) / (np.e - 1)
    assert split.q == pytest.approx([1 - share, share], rel=1e-14)
    assert split.p == pytest.approx([1 - share, share * np.e], rel=1e-14)


def test_merge_of_two_atoms():
    """Two atoms in one cell become one whose likelihood ratio is the ratio of their masses."""
    law = Law(np.log([1.5, 3.0]), np.array([0.6, 1.2]), np.array([0.4, 0.4]))
    merged = regrid(law, np.array([0.0, 2.0]), Side.LOWER)
    assert merged.loss == pytest.approx([np.log(1.8 / 0.8)], rel=1e-14)
    assert merged.p == pytest.approx([1.8], rel=1e-14)


@pytest.mark.parametrize("side", list(Side))
def test_masses_in_wide_cells_survive(side):
    """A cell of a thousand nats keeps P-mass on one side and Q-mass on the other."""
    law = Law(np.array([-300.0, 350.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    rounded = regrid(law, np.array([-600.0, 0.0, 500.0]), side)
    assert rounded.p.sum() == pytest.approx(1.0, rel=1e-12)
    assert rounded.q.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.all(np.isfinite(rounded.loss))


@quick
@given(width=st.floats(1e-9, 2000), share=st.floats(0, 1), positive=st.booleans())
def test_upper_share_is_a_share(width, share, positive):
    """Between 0 at the lower node and 1 at the upper one, for cells of any width."""
    offset = np.array([0.0, share * width, width])
    positive = np.full(3, positive)
    values = upper_share(offset, np.full(3, width), positive)
    assert values[0] == 0.0
    assert values[2] == 1.0
    assert 0 <= values[1] <= 1


@quick
@given(pair=pairs(), tail=st.floats(-70, -0.2).map(lambda e: 10.0**e))
def test_trimming_is_a_sandwich(pair, tail):
    """What is cut is charged above and merged below; no mass is lost on either side."""
    law = law_of(pair)
    lower, upper = trim(law, tail, Side.LOWER), trim(law, tail, Side.UPPER)
    assert_between(measure(law), lower, upper)
    for trimmed in (lower, upper):
        assert float(p_mass(trimmed)) == pytest.approx(float(p_mass(law)), rel=1e-12)
        assert float(q_mass(trimmed)) == pytest.approx(float(q_mass(law)), rel=1e-12)


@quick
@given(pair=pairs(), tail=st.floats(-70, -0.2).map(lambda e: 10.0**e))
def test_trimming_charges_at_most_the_tail(pair, tail):
    """P at infinity and Q at zero grow by no more than what was allowed."""
    law = law_of(pair)
    upper = trim(law, tail, Side.UPPER)
    assert law.p_infinite <= upper.p_infinite <= law.p_infinite + tail * (1 + 1e-12)
    assert law.q_zero <= upper.q_zero <= law.q_zero + tail * (1 + 1e-12)


def test_trimming_a_known_tail():
    """The last atom, cut at the one before it, leaves p (1 - e^(l - l_last)) at infinity."""
    loss = np.array([-1.0, 0.0, 1.0])
    q = np.array([0.5, 0.4, 0.1])
    law = Law(loss, q * np.exp(loss), q)
    upper = trim(law, 0.3, Side.UPPER)
    assert upper.loss.tolist() == [-1.0, 0.0]
    assert upper.p_infinite == pytest.approx(0.1 * (np.e - 1), rel=1e-14)
    assert upper.q == pytest.approx([0.5, 0.5], rel=1e-14)


@quick
@given(pair=pairs())
def test_trimming_nothing_changes_nothing(pair):
    """A tail below every mass leaves the law as it is."""
    law = law_of(pair)
    assert_same_profile(measure(law), trim(law, 1e-200, Side.UPPER))


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-9, 1e-12])
def test_trimming_tiny_losses(scale):
    """The charge for a tail is a small difference; it is not taken as one."""
    loss = scale * np.array([-2.0, -1.0, 1.0, 2.0])
    q = np.array([0.1, 0.4, 0.4, 0.1])
    law = Law(loss, q * np.exp(loss), q)
    lower, upper = trim(law, 0.15, Side.LOWER), trim(law, 0.15, Side.UPPER)
    assert upper.loss.size == 2
    assert_between(measure(law), lower, upper, shift=0.0)


@in_one_test
@pytest.mark.parametrize("above", [10.0, 500.0, 740.0, 800.0, 5000.0, 1e6])
@pytest.mark.parametrize("start", [0.0, 3.0, 1e5])
def test_barycentre_far_above_its_node(start, above):
    """Merging keeps the P-mass and never puts it above the barycentre, however wide the cell."""
    loss = start + above + np.array([0.0, 2.0, 3000.0])
    p = np.array([0.2, 0.3, 0.5])
    law = Law(loss, p, p * np.exp(-loss))
    merged = regrid(law, np.array([start, start + 2 * above + 4000.0]), Side.LOWER)
    barycentre = loss[0] - np.log(0.2 + 0.3 * np.exp(-2.0))
    assert merged.p.sum() == pytest.approx(1.0, rel=1e-12)
    assert merged.loss[-1] <= barycentre * (1 + 1e-12)


@pytest.mark.parametrize("below", [10.0, 500.0, 740.0, 800.0, 5000.0, 1e6])
def test_barycentre_far_below_its_node(below):
    """The mirror image: Q-mass in a wide cell of negative losses."""
    loss = -1.0 - below - np.array([3000.0, 2.0, 0.0])
    q = np.array([0.5, 0.3, 0.2])
    law = Law(loss, q * np.exp(loss), q)
    merged = regrid(law, np.array([-2 * below - 4000.0, -1.0]), Side.LOWER)
    barycentre = loss[-1] + np.log(0.2 + 0.3 * np.exp(-2.0))
    assert merged.q.sum() == pytest.approx(1.0, rel=1e-12)
    assert merged.loss[0] >= barycentre * (1 + 1e-12)
