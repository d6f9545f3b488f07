"""Counts the calls that the tests of this directory make; the summary prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from robustness.outcomes import CASES


@pytest.fixture(autouse=True)
def _counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """The number of calls of each test is a property of its report."""
    before = CASES[0]
    yield
    record_property("cases", CASES[0] - before)
