"""Batches of any scheme: sorted, distinct, in range, and as many as there are steps."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_strategies import examples
from robustness.outcomes import outcome, refused
from robustness.plans import SCHEMES
from robustness.values import counts

pytestmark = pytest.mark.slow


@examples(100)
@given(st.one_of(*SCHEMES.values()), counts(300), counts(1e6), st.integers(0, 2**64))
def test_batches(scheme: Any, examples: int, steps: int, seed: int) -> None:
    """The first of them; all are drawn as they are asked for."""
    drawn = outcome(lambda: scheme.batches(examples=examples, steps=steps, rng=seed))
    if refused(drawn):
        return
    batches = list(islice(drawn, 5))
    assert len(batches) == min(steps, 5)
    for batch in batches:
        assert batch.dtype == np.int64
        assert np.all(np.diff(batch) > 0)
        assert batch.size == 0 or (batch[0] >= 0 and batch[-1] < examples)


@examples(60)
@given(st.one_of(*SCHEMES.values()), counts(1e9), counts(1e6))
def test_expectations(scheme: Any, examples: int, steps: int) -> None:
    """A batch is not larger than the data, and nobody joins more often than there are steps."""
    if scheme.unit == "example":
        assert 0 <= outcome(lambda: scheme.expected_batch_size(examples)) <= examples
    assert 1 <= outcome(lambda: scheme.most_participations(steps)) <= steps
