"""Citations lead somewhere: every key has an entry, every entry an address and a use."""

from __future__ import annotations

import io
import re
import runpy
import tokenize
from types import SimpleNamespace

import pytest

from documentation.pages import DOCS, PAGES, ROOT
from in_one_test import in_one_test

BIBLIOGRAPHY = DOCS / "bibliography.md"
ENTRIES = {
    match["key"]: match["text"]
    for match in re.finditer(
        r'^- <a id="(?P<anchor>\w+)"></a>\*\*\[(?P<key>\w+)\]\*\* (?P<text>.+)$',
        BIBLIOGRAPHY.read_text(),
        re.MULTILINE,
    )
}
CITATION = re.compile(r"(?<![\w\]])\[(?P<cited>[A-Z][A-Za-z]+\d\d\b[^\]]*)\](?!\()", re.DOTALL)
KEY = re.compile(r"\b[A-Z][A-Za-z]+\d\d\b")
# Neither has an address that we could verify; the journal, its volume and the pages are given.
WITHOUT_ADDRESS = {"Csiszar67", "Ehrhard83", "Kahane86", "Ville39"}


def cited(text):
    """The keys in `[Key25]`, `[Key25, Theorem 3]` and `[Key25; Other24, Lemma 2]`."""
    return {key for match in CITATION.finditer(text) for key in KEY.findall(match["cited"])}


def written(path):
    """Docstrings and comments of a source file: code can have brackets of its own."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    kinds = (tokenize.COMMENT, tokenize.STRING)
    return "\n".join(token.string.lstrip("# ") for token in tokens if token.type in kinds)


def citations():
    """What is cited where: in the source, the pages and the reproductions."""
    files = [path for part in ("src", "reproductions") for path in (ROOT / part).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix(): cited(written(path)) for path in files}
    pages = [page for page in PAGES if page != BIBLIOGRAPHY]
    return found | {page.relative_to(ROOT).as_posix(): cited(page.read_text()) for page in pages}


def test_the_pattern():
    """Links, types and images are no citations."""
    text = "[Tran26, Theorem 3.2] [Mironov17; Bu20, p. 3] [Link25](x.md) list[Float64] `[1]`"
    assert cited(text) == {"Tran26", "Mironov17", "Bu20"}


def test_every_citation_has_an_entry():
    """A reader can follow it."""
    unknown = {name: keys - ENTRIES.keys() for name, keys in citations().items()}
    assert not {name: keys for name, keys in unknown.items() if keys}


def test_every_entry_is_cited():
    """A work that nothing refers to any more."""
    assert set().union(*citations().values()) >= ENTRIES.keys()


@pytest.mark.parametrize("folder", ["src", "reproductions"])
def test_works_are_cited_by_key_only(folder):
    """Neither names with a year nor names of files stand for a paper."""
    old = re.compile(
        r"\b([Rr]andom_allocation|[Ss]ampling_free\w*|[Bb]_min_sep|[Ff]dp_filters),? [A-Z]"
        r"|[A-Z][a-z]+(?: et al\.)?,? \(?(19|20)\d\d\b(?!_)"
    )
    for path in (ROOT / folder).rglob("*.py"):
        found = [match[0] for match in old.finditer(written(path))]
        assert not found, path.name


@in_one_test
@pytest.mark.parametrize("key", sorted(ENTRIES))
def test_entries_have_an_address(key):
    """An arXiv id or a DOI, spelled once as text and once as link."""
    found = re.findall(r"\[(arXiv|doi):(\S+)\]\((\S+)\)", ENTRIES[key])
    assert bool(found) != (key in WITHOUT_ADDRESS)
    for kind, name, link in found:
        assert link == {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}[kind] + name
        if kind == "arXiv":
            assert re.fullmatch(r"\d{4}\.\d{4,5}(v\d+)?", name)


@in_one_test
@pytest.mark.parametrize("key", sorted(ENTRIES))
def test_keys_follow_the_rule(key):
    """Last names of up to three authors, or the first of more, and the year."""
    anchored = re.findall(rf'<a id="(\w+)"></a>\*\*\[{key}\]', BIBLIOGRAPHY.read_text())
    assert anchored == [key.lower()]
    authors = ENTRIES[key].partition(". *")[0].split(", ")
    last_names = [author.rpartition(". ")[2] for author in authors]
    named = last_names if len(last_names) <= 3 else last_names[:1]
    plain = str.maketrans("áèöüÖ", "aeouO", "- ")
    assert key[:-2] == "".join(named).translate(plain)
    assert re.search(rf"\b(19|20){key[-2:]}\b", ENTRIES[key])


def test_citations_are_linked():
    """By the hook of MkDocs: outside of code and links, to the entry of the first key."""
    hook = runpy.run_path(str(DOCS / "link_citations.py"))["on_page_content"]
    file = SimpleNamespace(url_relative_to=lambda page: "../bibliography.html", src_uri="a.md")
    files = SimpleNamespace(get_file_from_path=lambda path: file)
    html = "<p>[Tran26, Theorem 3] <code>[Tran26]</code> <a>[Bu20]</a> [1]</p>"
    linked = hook(html, page=SimpleNamespace(file=file), files=files, config=None)
    shown = '<a href="../bibliography.html#tran26">[Tran26, Theorem 3]</a>'
    assert linked == html.replace("[Tran26, Theorem 3]", shown)
