"""The page and the picture show the kept results."""

from __future__ import annotations

import pytest

import keeping
from cases import CASES, US
from environments import ROOT
from page import PAGE, rendered
from picture import PICTURE, draw
from promises import PROMISES
from roster import PARTICIPANTS

README = ROOT / "README.md"


def test_the_page_has_the_numbers_of_the_results():
    """`python benchmarks/run.py --redraw` makes it so."""
    assert PAGE.read_text() == rendered(keeping.read())


def test_every_promise_is_on_the_page():
    """A line for each, and no case without an answer of ours or an error."""
    text = PAGE.read_text()
    for promise in PROMISES:
        assert f"| {promise.issue} | {promise.case} | {promise.what} |" in text


def test_the_results_name_machine_and_peers():
    """What they were measured on, and every environment."""
    found = keeping.read()
    assert {"date", "processor", "cores", "memory_gb", "packages"} <= set(found["machine"])
    questions = (*found["cases"].values(), *found["sweeps"].values())
    asked = [PARTICIPANTS[who] for who in {who for answers in questions for who in answers}]
    peers = {p.requirements[0].replace("==", "-") for p in asked if p.requirements}
    assert set(found["environments"]) == peers


def test_questions_asked_again_are_named():
    """All their participants are new, all other answers as they were."""
    complete = keeping.read()
    some = {
        "machine": {"date": "2031-02-03", "processor": "abacus"},
        "cases": {"poisson": {US: {"upper": 9.0, "lower": 8.0, "seconds": [1.0], "peak_mb": 1.0}}},
        "sweeps": {},
    }
    found = keeping.renewed(complete, some)
    assert found["cases"]["poisson"] == some["cases"]["poisson"]
    assert found["cases"]["gram"] == complete["cases"]["gram"]
    assert list(found["cases"]) == list(complete["cases"])
    assert found["machine"] == complete["machine"]
    assert "Asked again on 2031-02-03 (abacus), all participants of each: poisson." in rendered(
        found
    )
    assert "2031" not in rendered(complete)


def test_the_picture_is_small_and_shown():
    """On the first page and on its own."""
    assert 20_000 < PICTURE.stat().st_size <= 200_000
    assert "docs/images/bench.png" in README.read_text()
    assert "images/bench.png" in PAGE.read_text()


def test_a_failing_peer_is_shown_with_its_error():
    """In the table of its case, and in those of the promises about it."""
    ours = {"lower": 1.0, "upper": 1.0005, "seconds": [0.1], "peak_mb": 100.0}
    answers = {US: ours, "dp-accounting": {"error": "no <such> | luck"}}
    text = rendered({**keeping.read(), "cases": {"poisson": answers}, "sweeps": {}})
    assert r"| dp-accounting | - | - | - | - | - | - | - | no &lt;such> \| luck |" in text
    assert r"| **not measured: dp-accounting: no &lt;such> \| luck** |" in text
    assert "| 2 | poisson | upper over lower bound | at most 1.001 | 1.0005 | held |" in text


def test_answers_below_a_proven_bound_are_marked():
    """In cases and in sweeps."""
    ours = {"lower": 1.0, "upper": 1.0005, "seconds": [0.1], "peak_mb": 100.0}
    wrong = {**ours, "lower": None, "upper": 0.9}
    answers = {US: ours, "dp-accounting": wrong}
    points = {who: [{"point": 100, **answer}] for who, answer in answers.items()}
    found = {"cases": {"poisson": answers}, "sweeps": {"steps": points}}
    text = rendered({**keeping.read(), **found})
    assert text.count("| below a proven lower bound |") == 1
    assert "| 0.1 s, 100 MB: 0.9 (below a proven lower bound) |" in text


@pytest.mark.slow
def test_a_picture_of_failures(tmp_path):
    """Points that failed and promises without a measurement do not stop the drawing."""
    point = {"point": 100, "upper": 2.0, "lower": 1.9, "seconds": [0.1], "peak_mb": 50.0}
    broken = {"point": 1_000, "error": "timed out after 80 s"}
    found = {"cases": {}, "sweeps": {"steps": {US: [point], "dp-accounting": [point, broken]}}}
    path = tmp_path / "bench.png"
    draw(found, path)
    assert path.stat().st_size > 10_000
    assert set(CASES)
