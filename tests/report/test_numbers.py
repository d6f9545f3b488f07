"""Numbers as text on the safe side."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.report import count_text, lower_text, upper_text
from in_one_test import in_one_test

POSITIVE = st.floats(min_value=1e-300, max_value=1e300)


@given(POSITIVE, st.integers(2, 9))
def test_text_never_crosses_the_number(value: float, digits: int) -> None:
    """Upper bounds are rounded up and lower bounds down, by less than the last digit's unit."""
    upper, lower = float(upper_text(value, digits)), float(lower_text(value, digits))
    assert lower <= value <= upper
    assert upper <= value * (1 + 1.01 * 10 ** (1 - digits))
    assert lower >= value * (1 - 1.01 * 10 ** (1 - digits))


@in_one_test
@pytest.mark.parametrize(
    ("value", "upper", "lower"),
    [
        (2.0, "2.0000", "2.0000"),
        (2.2, "2.2000", "2.2000"),
        (0.1, "0.10000", "0.10000"),
        (3.3, "3.3000", "3.3000"),
        (6.910778, "6.9108", "6.9107"),
        (0.999999, "1.0000", "0.99999"),
        (89.17405, "89.175", "89.174"),
        (3507012.0, "3507100", "3507000"),
        (1.23456e-40, "1.2346e-40", "1.2345e-40"),
        (7.33841e-7, "7.3385e-7", "7.3384e-7"),
        (0.0, "0", "0"),
        (math.inf, "inf", "inf"),
    ],
)
def test_examples(value: float, upper: str, lower: str) -> None:
    """Plain where that is readable, scientific elsewhere."""
    assert (upper_text(value), lower_text(value)) == (upper, lower)


def test_counts_have_separated_thousands() -> None:
    """Large counts are readable."""
    assert [count_text(12), count_text(50_000)] == ["12", "50,000"]
