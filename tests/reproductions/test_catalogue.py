"""The list of figures: complete, true, and on the pages of the papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hockeystick.cli.reproduce import CATALOGUE, STATUSES, all_papers, all_scripts
from in_one_test import in_one_test

ROOT = Path(__file__).parents[2]
PAPERS = all_papers(ROOT / "reproductions")
FIGURES = [(paper, figure) for paper in PAPERS for figure in paper.entries]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
# What is missing is said for these.
EXPLAINED = ("in part", "needs data", "not here")


def name_of(value):
    """A figure's name in the output of pytest."""
    return getattr(value, "key", None) or f"{value.label or value.script}"


def test_all_figures_are_listed_once():
    """By number, from 1 to how many the paper has; our own come after them."""
    assert [paper.key for paper in PAPERS] == [
        "random-allocation",
        "matrix-allocation",
        "b-min-sep",
        "fdp-filters",
    ]
    for paper in PAPERS:
        numbers = [figure.number for figure in paper.entries if figure.number is not None]
        assert numbers == list(range(1, paper.figures + 1))
        assert all((f.number is None) == (f.status == "own") for f in paper.entries)


@in_one_test
@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=name_of)
def test_an_entry(paper, figure):
    """A known status, a script unless there is none, and a reason where something is missing."""
    assert figure.status in STATUSES
    assert (figure.script is None) == (figure.status == "not here")
    assert figure.script is None or figure.script in all_scripts()
    assert figure.remark or figure.status not in EXPLAINED


def test_every_script_is_in_the_list():
    """A script that makes a figure is nowhere forgotten."""
    assert {figure.script for _, figure in FIGURES} - {None} == set(all_scripts())


@in_one_test
@pytest.mark.parametrize("script", sorted(all_scripts()))
def test_small_mode_is_tested(script):
    """A test file of this folder names the script, or its series, and runs small modes."""
    here = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
    series = re.sub(r"\d+$", "{", script)
    found = [text for text in here if f"{script}" in text or f'"{series}' in text]
    assert any('"--small"' in text for text in found)


@in_one_test
@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=name_of)
def test_the_page_of_the_paper_has_it(paper, figure):
    """A row in the table of its figures, and the picture; those of our own are on any page."""
    page = ROOT / "docs" / "papers" / f"{paper.key}.md"
    if figure.number is not None:
        row = re.search(rf"^\| {figure.number} \|.*$", page.read_text(), re.MULTILINE)
        assert row is not None
        assert f"`{figure.script}`" in row[0] or figure.script is None
        assert figure.status in row[0]
    if figure.status in ("reproduced", "in part"):
        assert f"(figures/{figure.script}.png)" in page.read_text()
    if figure.status == "own":
        assert any(f"/{figure.script}.png)" in text.read_text() for text in PAGES)


def test_the_list_travels_with_the_scripts():
    """It lies beside them, so that a wheel has both."""
    assert CATALOGUE == "figures.toml"
    assert '"reproductions" = "hockeystick/_reproductions"' in (ROOT / "pyproject.toml").read_text()
