"""Normal numbers in single precision: their law, their tails, their layers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from hockeystick.strategies import normals
from hockeystick.strategies.normals import fill_normal

pytestmark = pytest.mark.slow
# A layer holds 1/256 of all numbers: 16,000 of these, so that a wrong one shows in every count.
COUNT = 2**22


@pytest.fixture(scope="module")
def numbers():
    """Some millions of numbers, each row from a source of its own."""
    rows = np.empty((8, COUNT // 8), np.float32)
    for seed, row in enumerate(rows):
        fill_normal(row, np.random.Generator(np.random.PCG64DXSM(seed)))
    return rows.ravel().astype(np.float64)


@pytest.mark.parametrize(("power", "mean"), [(1, 0), (2, 1), (3, 0), (4, 3), (6, 15), (8, 105)])
def test_moments(numbers, power, mean):
    """Within four standard errors of the normal moments."""
    variance = stats.norm.moment(2 * power) - mean**2
    assert abs((numbers**power).mean() - mean) < 4 * np.sqrt(variance / COUNT)


def test_every_layer_and_the_tail_have_their_share(numbers):
    """Counts between the layers' edges, and beyond, against the normal law on both sides."""
    inner = normals._EDGES[1:-1]
    edges = np.concatenate([[-np.inf], -inner[::-1], [0.0], inner, [np.inf]])
    counts = np.histogram(numbers, edges)[0]
    expected = np.diff(stats.norm.cdf(edges)) * COUNT
    assert stats.chisquare(counts, expected).pvalue > 1e-4


def test_inside_of_layers(numbers):
    """Cells are even across layers, wedges under the curve included: finer bins than layers."""
    edges = stats.norm.ppf(np.linspace(0.0, 1.0, 4001))
    counts = np.histogram(numbers, edges)[0]
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("beyond", [3.0, 3.7, 4.0, 4.5])
def test_tails(numbers, beyond):
    """As many numbers far out as there should be, on each side."""
    expected = stats.norm.sf(beyond) * COUNT
    for side in (numbers, -numbers):
        assert abs((side > beyond).sum() - expected) < 4 * np.sqrt(expected)


def test_zero_is_not_drawn_and_signs_are_even(numbers):
    """Neither sign is drawn more often."""
    assert not (numbers == 0.0).any()
    assert abs((numbers > 0.0).mean() - 0.5) < 4 * 0.5 / np.sqrt(COUNT)


def test_neighbours_are_independent(numbers):
    """Two numbers come from one random word of 64 bits."""
    for lag in (1, 2, 3):
        for left, right in ((numbers, numbers), (np.abs(numbers), np.abs(numbers))):
            found = np.corrcoef(left[:-lag], right[lag:])[0, 1]
            assert abs(found) < 4 / np.sqrt(COUNT)


def test_layers_have_equal_areas():
    """Each rectangle, and the lowest with its tail."""
    edges = normals._EDGES
    heights = np.exp(-(edges**2) / 2.0)
    areas = edges[1:-1] * (heights[:-2] - heights[1:-1])
    below = integrate.quad(lambda x: np.exp(-x * x / 2.0), normals.TAIL, np.inf)[0]
    lowest = normals.TAIL * heights[-2] + below
    np.testing.assert_allclose(areas, lowest, rtol=1e-12)


def test_cells_that_are_accepted_lie_under_the_curve():
    """The last accepted cell of a layer ends where the layer above does, or before."""
    edges = normals._EDGES
    ends = normals._ACCEPTED / normals.CELLS * edges[1:]
    assert (ends <= edges[:-1] * (1 + 1e-15)).all()


@pytest.mark.parametrize("size", [1, 2, 3, 1023, 1025])
def test_any_length(size):
    """Odd lengths leave half a word; whatever lies beside the row is not touched."""
    row = np.full(size + 2, np.float32(99.0))
    fill_normal(row[1:-1], np.random.default_rng(1))
    assert row[0] == row[-1] == 99.0
    assert (np.abs(row[1:-1]) < 6.0).all()
