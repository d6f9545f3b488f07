"""A statement's file says one thing, and nothing in it reaches the terminal as a command."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.training import RunRecord, Statement, statement
from in_one_test import in_one_test

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
RECORD = RunRecord(plan=PLAN, noise_multiplier=1.5, max_grad_norm=1.0, taken_steps=5)
TRUE = statement(RECORD, delta=1e-5)
HIDDEN = {
    "colour": "\x1b[2J\x1b[31m",
    "title": "\x1b]0;owned\x07",
    "single byte escape": "\x9b2J",
    "return": "\rthe statement holds",
    "new line": "\nthe statement holds",
    "backspace": "\x08\x08\x08",
    "null": "\x00",
    "right to left": "\u202e0.1",
    "isolate": "\u2066",
    "no width": "\u200b",
    "line separator": "\u2028",
    "half a character": "\ud83d",
}
TEXTS = ["adjacency", "unit", "kind", "method", "priced_for", "note"]


def visible(text):
    """Whether nothing in the text is a control but ends of lines."""
    return not any(
        unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") for one in text if one != "\n"
    )


def facts():
    """The facts of a true statement."""
    return json.loads(TRUE.to_json())


def placed(name, text):
    """The facts with the text in one of them, at its end or as a key."""
    content = facts()
    if name == "version":
        content["versions"]["numpy"] += text
    elif name == "key of versions":
        content["versions"][f"numpy{text}"] = "2"
    elif name == "scheme":
        content["scheme"]["scheme"] += text
    elif name == "key of strategy":
        content["strategy"][f"bands{text}"] = 3
    elif name == "filter":
        content["filter"] = {"filter": f"Gaussian{text}", "mu": 1.0}
    elif name == "process":
        content["filter"] = {"filter": "Levy", "epsilon": 1.0, "delta": 1e-5, "process": text}
    elif name == "unknown fact":
        content[f"more{text}"] = 1
    else:
        content[name] = f"{content[name]}{text}"
    return content


PLACES = [*TEXTS, "version", "key of versions", "scheme", "key of strategy", "filter", "process",
          "unknown fact"]  # fmt: skip


@in_one_test
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "raw"])
def test_control_characters_are_refused(command, tmp_path, name, text, ascii_only):
    """In any text and any name, written as such or by number; the output is one visible line."""
    path = tmp_path / "statement.json"
    content = json.dumps(placed(name, text), ensure_ascii=ascii_only)
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    done = command("verify", path)
    assert done.status == 2
    assert done.stdout == ""
    assert visible(done.stdout + done.stderr)
    assert done.stderr.count("\n") == 1


@in_one_test
@pytest.mark.parametrize("name", list(json.loads(TRUE.to_json())))
def test_a_fact_twice_is_refused(command, tmp_path, name):
    """Whether the first or the last is the true one, and also if both are the same."""
    true = facts()
    text = TRUE.to_json()
    own = f"{json.dumps(name)}: {json.dumps(true[name])}"
    for other in (own, f"{json.dumps(name)}: 0.001"):
        for changed in (text.replace(own, f"{other}, {own}"), text.replace(own, f"{own}, {other}")):
            assert changed != text
            path = tmp_path / "statement.json"
            path.write_text(changed, encoding="utf-8")
            done = command("verify", path)
            assert (done.status, done.stdout) == (2, "")
            assert "occurs twice" in done.stderr


def test_a_parameter_twice_is_refused():
    """Inside the scheme as well."""
    changed = TRUE.to_json().replace('"rate": 0.1', '"rate": 0.1, "rate": 0.01')
    with pytest.raises(InvalidParameter, match="occurs twice"):
        Statement.from_json(changed)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_numbers_beyond_floating_point_are_refused(number):
    """An infinite epsilon would hold whatever was run."""
    changed = TRUE.to_json().replace(f'"epsilon": {TRUE.epsilon!r}', f'"epsilon": {number}')
    assert changed != TRUE.to_json()
    with pytest.raises(InvalidParameter, match="statement must be JSON"):
        Statement.from_json(changed)


@in_one_test
@pytest.mark.parametrize("name", ["adjacency", "unit", "method", "note", "priced_for"])
@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_a_statement_that_was_made_in_python_is_escaped(name, text):
    """Its paragraph shows what is there."""
    made = replace(TRUE, **{name: f"some{text}"}, versions={f"a{text}": text})
    assert visible(made.paragraph())
    assert "\n" not in made.paragraph()


def test_a_file_with_an_escape_in_its_name(command, tmp_path):
    """The name is printed, not obeyed."""
    path = tmp_path / "\x1b[31mstatement.json"
    path.write_text("{}")
    done = command("verify", path)
    assert done.status == 2
    assert visible(done.stderr)
    assert "\\x1b[31mstatement.json" in done.stderr
