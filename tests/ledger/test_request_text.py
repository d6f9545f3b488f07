"""Requests and descriptions in a ledger say one thing."""

from __future__ import annotations

import pytest

from hockeystick.errors import LedgerError
from hockeystick.ledger.store import as_text, from_text


@pytest.mark.parametrize(
    "text",
    [
        '{"rate": 0.1, "rate": 0.9}',
        '{"clip_scale": 1.0, "clip_scale": 0.001}',
        '{"rate": NaN}',
        r'{"filter": "\u001b[31m"}',
        r'{"a\nb": 1}',
        '{"rate": 1e999}',
        "[" * 100_000,
        "[]",
    ],
)
def test_text_that_can_be_read_in_two_ways_is_damage(text):
    """Names that occur twice, infinite numbers, and what is no object."""
    with pytest.raises(LedgerError, match="damaged"):
        from_text(text)


def test_what_was_written_is_read():
    """To the last digit; descriptions of arrays have several lines."""
    values = {"rate": 0.1, "inner": {"rate": 1e-300}, "name": "ε\nδ", "steps": [1, 2]}
    assert from_text(as_text(values)) == values
