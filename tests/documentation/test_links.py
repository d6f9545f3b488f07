"""Links lead somewhere: to files, to headings, to pictures; outside links are well-formed."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from documentation.pages import DOCS, PAGES, ROOT, anchors, links, name_of
from in_one_test import in_one_test

SCHEMES = ("http", "https")


def outside(target):
    """Whether the link leaves the repository."""
    return bool(urlsplit(target).scheme)


@in_one_test
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_headings_exist(page):
    """Relative to the page; an anchor is that of a heading there."""
    for target in links(page):
        if outside(target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), target
        assert file.is_relative_to(DOCS if page.is_relative_to(DOCS) else ROOT), target
        if anchor:
            assert anchor in anchors(file), target


@in_one_test
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_outside_links_are_well_formed(page):
    """There is no network in a test: a scheme, a host, and nothing that looks like a mistake."""
    for target in links(page):
        if not outside(target):
            continue
        parts = urlsplit(target)
        assert parts.scheme in SCHEMES, target
        assert re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc), target
        assert not re.search(r"[\s<>\"]|//", parts.path), target


def test_the_changelog_has_outside_links_only():
    """It is shown in the repository and in the docs, so no relative link works in both."""
    assert all(outside(target) for target in links(ROOT / "CHANGELOG.md"))


def test_every_page_can_be_reached():
    """From the first page of the site, by links alone."""
    seen, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        targets = [target.partition("#")[0] for target in links(page) if not outside(target)]
        found = [(page.parent / target).resolve() for target in targets if target.endswith(".md")]
        waiting += [target for target in found if target.is_file()]
    assert {page for page in PAGES if page.is_relative_to(DOCS)} <= seen


def test_every_page_is_in_the_menu():
    """And every entry of the menu is a page."""
    menu = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS)]
    assert sorted(menu) == sorted(pages)


def test_every_picture_is_shown():
    """A picture that no page shows is forgotten, or its link is broken."""
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in links(page)
        if not outside(target)
    }
    assert set(DOCS.rglob("*.png")) <= shown
