"""Rows longer than a piece, computed two steps at a time."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.strategies.noise import PIECE
from twins.factorizations import pieces_drawn

STEPS = 7
LONG = 2 * PIECE + 5
STRATEGIES = [
    strategies.identity(STEPS),
    strategies.bsr(STEPS, 2),
    strategies.bsr(STEPS, 5),
    strategies.bisr(STEPS, 2),
    strategies.bisr(STEPS, 4),
    strategies.blt(STEPS, 2),
    strategies.from_matrix(strategies.bsr(STEPS, 4).to_matrix() * np.arange(1, STEPS + 1)),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_pieces_make_the_dense_product(strategy):
    """Whatever the order of drawing, each coordinate has the rows of C^-1 times its own Z."""
    rows = np.stack(list(strategy.noise(LONG, scale=2.0, dtype=np.float64, rng=6)))
    z = pieces_drawn(6, (STEPS, LONG), together=strategy.recurrence.together)
    product = 2.0 * np.linalg.inv(strategy.to_matrix()) @ z
    np.testing.assert_allclose(rows, product, rtol=0, atol=1e-13 * np.abs(product).max())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("after", range(STEPS + 1))
def test_a_stream_is_restored_between_rows_made_together(strategy, after):
    """A row that is computed and not handed out yet is part of the state."""
    stream = strategy.noise(LONG, rng=1)
    for _ in range(after):
        next(stream)
    saved = stream.state()
    fresh = strategy.noise(LONG, rng=2)
    fresh.restore(saved)
    expected = list(stream)
    assert len(expected) == STEPS - after
    for row, same in zip(fresh, expected, strict=True):
        np.testing.assert_array_equal(row, same)


@pytest.mark.parametrize("computed", [-1, 0, 4, STEPS + 1, 1.5, "x", None])
def test_a_state_computed_elsewhere_is_refused(computed):
    """Rows that are called computed are in the memory, so a wrong count would repeat some."""
    stream = strategies.bsr(STEPS, 3).noise(4, rng=1)
    next(stream)
    with pytest.raises(Exception, match=r"^state"):
        stream.restore({**stream.state(), "computed": computed})
