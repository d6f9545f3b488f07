"""Shuffle: a description that is refused with a reason."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.schemes import Shuffle


def test_no_batches_are_drawn() -> None:
    """The refusal comes at the call, with the reason and the alternatives."""
    with pytest.raises(UnsupportedPlan, match="no tight privacy analysis") as caught:
        Shuffle(batch_size=10).batches(examples=100, steps=20)
    assert "BallsInBins" in str(caught.value)
    assert "RandomAllocation" in str(caught.value)


def test_batch_size_is_the_fixed_one() -> None:
    """The expected batch size is the size, and the constructor inverts it."""
    assert Shuffle(batch_size=32).expected_batch_size(1000) == 32
    assert Shuffle.for_batch_size(32.0, examples=1000) == Shuffle(batch_size=32)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    """No batch holds more examples than there are."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be in \(0, examples=31\]"):
        Shuffle(batch_size=32).expected_batch_size(31)


def test_a_fractional_batch_is_refused() -> None:
    """A fixed size is a whole number."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be an integer in \[1, 1000\]"):
        Shuffle.for_batch_size(32.5, examples=1000)


@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "4", None])
def test_bad_sizes_are_refused(bad: Any) -> None:
    """The size is a positive integer."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be an integer >= 1"):
        Shuffle(batch_size=bad)


def test_participations_and_description() -> None:
    """Without the data size every step may be a participation; the size is described."""
    assert Shuffle(batch_size=32).most_participations(17) == 17
    assert Shuffle(batch_size=32).describe() == {"scheme": "shuffle", "batch_size": 32}
