"""The pages of the documentation, their fenced blocks, links and headings."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?P<image>!?)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (?P<title>.+?)(?: \{ ?#(?P<anchor>[\w-]+) ?\})?$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language with title, what is in it, and whether it follows another."""

    info: str
    text: str
    follows: bool


def name_of(page):
    """A page's name in the output of pytest."""
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """The fenced blocks of a page, in order; `follows` if nothing but space is between two."""
    text = page.read_text()
    found, end = [], None
    for match in FENCE.finditer(text):
        follows = end is not None and not text[end : match.start()].strip()
        found.append(Block(match["info"].strip(), match["text"], follows))
        end = match.end()
    return found


def prose(page):
    """The page without its fenced blocks."""
    return FENCE.sub("", page.read_text())


def links(page):
    """Targets of links and images; what is written as code is none."""
    return [match["target"] for match in LINK.finditer(SPAN.sub("", prose(page)))]


def anchors(page):
    """What a link into the page can point at: slugs of its headings, as MkDocs makes them."""
    found = set()
    for match in HEADING.finditer(prose(page)):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", match["title"])
        slug = re.sub(r"[^\w\s-]", "", _ascii(plain)).strip().lower()
        found.add(match["anchor"] or re.sub(r"[-\s]+", "-", slug))
    return found


def _ascii(text):
    """As Python-Markdown's slugs: accents are dropped, and so is what has no Latin base."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
