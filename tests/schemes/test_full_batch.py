"""FullBatch: every example in every step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import FullBatch


@given(st.integers(1, 50), st.integers(1, 20))
def test_every_batch_is_everything(examples: int, steps: int) -> None:
    """Each step yields all indices in order."""
    batches = [b.tolist() for b in FullBatch().batches(examples=examples, steps=steps)]
    assert batches == [list(range(examples))] * steps


@given(st.integers(1, 10**9))
def test_batch_size_is_the_data(examples: int) -> None:
    """The expected batch size is `examples`, and the constructor inverts it."""
    size = FullBatch().expected_batch_size(examples)
    assert size == examples
    assert FullBatch.for_batch_size(size, examples=examples) == FullBatch()


@pytest.mark.parametrize("size", [99, 99.999, 101])
def test_another_batch_size_is_refused(size: float) -> None:
    """Only the number of examples is a full batch."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be examples=100"):
        FullBatch.for_batch_size(size, examples=100)


def test_every_step_is_a_participation() -> None:
    """An example takes part in all the steps."""
    assert FullBatch().most_participations(17) == 17


def test_description() -> None:
    """The name is all there is to say."""
    assert FullBatch().describe() == {"scheme": "full-batch"}
