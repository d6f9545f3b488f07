"""JSON that means one thing, and text that a terminal does not obey."""

from __future__ import annotations

import pytest

from hockeystick._text import escaped, invisible, strict_json
from in_one_test import in_one_test

HIDDEN = ["\x1b[31m", "\x07", "\x00", "a\nb", "\x9b0m", "\u202e", "\u2066", "\u200b", "\u2028",
          "\ufeff", "\ud800", "\x7f"]  # fmt: skip


@in_one_test
@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"b": {"a": 1, "a": 1}}',
        '[{"a": 1}, {"x": 0, "x": 0}]',
        '{"a": 1, "\\u0061": 2}',
        "NaN",
        "[Infinity]",
        '{"a": 1e999}',
        "-1e999",
        "[" * 100_000,
        '{"a": "\\u001b[31m"}',
        '{"\\u202e": 1}',
        '["\\ud800"]',
        "1" * 5000,
        "{} {}",
        "",
    ],
)
def test_ambiguous_json_is_refused(text):
    """With a `ValueError` that says why."""
    with pytest.raises(ValueError, match=r"\w"):
        strict_json(text)


def test_other_json_is_read():
    """Numbers, text of any language, objects in objects with the same names."""
    assert strict_json('{"a": {"a": [1.5, "ε ≤ 2 日本"]}}') == {"a": {"a": [1.5, "ε ≤ 2 日本"]}}


@in_one_test
@pytest.mark.parametrize("text", HIDDEN)
def test_hidden_characters_are_written_as_numbers(text):
    """What comes out can be printed and shows what was there."""
    assert invisible(text)
    assert escaped(text).isascii()
    assert escaped(text).isprintable()
    assert "\\" in escaped(text)
    assert escaped(f"ε{text}é").startswith("ε")


def test_visible_text_stays():
    """Letters, signs and backslashes."""
    assert escaped("ε = 1, δ ≤ 1e-5 (日本) \\x1b") == "ε = 1, δ ≤ 1e-5 (日本) \\x1b"
