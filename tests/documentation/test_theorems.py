"""Whoever knows one of the four papers finds the place of every numbered statement on its page."""

from __future__ import annotations

import re

import pytest

from documentation.pages import DOCS

# The numbered statements of the papers, in the versions that docs/bibliography.md names.
STATEMENTS = {
    "random-allocation": """
        Definition 2.1 2.2 2.3 2.5 2.6 2.7 2.9 2.10 2.11 2.12 2.13 3.3 3.5
        Lemma 2.4 2.8 2.14 3.1 3.4 3.6 3.7 3.8 3.9 3.11 3.13 4.2 4.3 4.4 B.1 D.1
        Theorem 3.2 4.1 4.6
        Corollary 3.12 3.14 4.5 4.7
        Claim A.1 A.2 A.3 B.2 C.1
        Remark 3.10 A.4
    """,
    "matrix-allocation": """
        Definition 2.1 2.3 2.4 2.5 2.6 2.7
        Lemma 2.2 2.8 3.2 3.3 3.4 4.1 4.2 4.3 4.5 4.7 C.1 C.2 C.3 D.2 D.3 D.4 D.6 D.7 D.8 G.1
        Theorem 3.1 4.6 4.8 D.1 D.9
        Corollary 4.4 D.5 D.10
        Algorithm 1 2 3 4
        Remark D.11
    """,
    "b-min-sep": """
        Definition 2.1 2.2
        Algorithm 1 2 3 4 5
        Theorem 5.1 6.1 A.1
        Conjecture 6.2
        Lemma B.1
    """,
    "fdp-filters": """
        Definition 2.1 2.2 2.4 2.6 2.7 2.9 2.10 3.1 3.4 3.5 A.1 A.2 A.4 A.5 A.10 A.12 A.15 C.1 D.4
        Theorem 2.3 2.8 2.11 3.6 3.8 4.1 4.2 4.3 4.4 A.3 A.6 A.7 A.11 A.14 A.17 B.1 C.6 C.8 D.2 E.1
        Theorem F.1 F.2
        Proposition 2.5 3.2 A.8 A.13 A.16 A.18 C.4 D.1
        Corollary A.9 A.19 A.21 B.3 B.4 C.7 C.9
        Lemma A.20 C.2 C.3 D.5
        Example 3.3 3.7 C.5 D.3
        Remark B.2 B.5
        Algorithm 1 2 3
    """,
}
WORDS = {
    "Algorithms": "Algorithm",
    "Corollaries": "Corollary",
    "Definitions": "Definition",
    "Examples": "Example",
    "Lemmas": "Lemma",
    "Propositions": "Proposition",
    "Remarks": "Remark",
    "Theorems": "Theorem",
}
NUMBER = r"[A-Z1-9](?:\.\d+)?"


def numbered(text):
    """`Lemmas 3.6 and 3.7, Claim A.2` as ("Lemma", "3.6"), ("Lemma", "3.7"), ("Claim", "A.2")."""
    found, word = set(), ""
    for part in re.findall(rf"[A-Z][a-z]+|\b{NUMBER}(?![\w.])", text):
        if re.fullmatch(NUMBER, part):
            found.add((word, part))
        else:
            word = WORDS.get(part, part)
    return found


def table(page):
    """The rows of the page's table, without its two first lines."""
    text = (DOCS / "papers" / f"{page}.md").read_text()
    section = text.partition("## Theorem by theorem\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1:]]


@pytest.mark.parametrize("page", STATEMENTS)
def test_every_statement_has_its_place(page):
    """Each of the paper's statements, and none that it does not have."""
    named = set().union(*(numbered(cells[0]) for cells in table(page)))
    assert named == numbered(STATEMENTS[page])


@pytest.mark.parametrize("page", STATEMENTS)
def test_every_place_is_one(page):
    """A file, a page of ours, or a word that says that there is none."""
    for statement, _, place in table(page):
        assert re.search(r"\.py|\]\(|[Nn]ot here|no code|`h\w+\.|`ledger=`", place), statement


def test_numbers_are_read():
    """Plurals, lists, and several words in one cell."""
    text = "Definitions 2.1, 2.3 and A.10, Lemma 2.2, Algorithm 1, lines 3 and 4"
    assert numbered(text) >= {
        ("Definition", "2.1"),
        ("Definition", "2.3"),
        ("Definition", "A.10"),
        ("Lemma", "2.2"),
        ("Algorithm", "1"),
    }
