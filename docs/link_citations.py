"""A hook of MkDocs: citations such as [Mironov17, Theorem 3] become links to the bibliography."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

BIBLIOGRAPHY = "bibliography.md"
# What is a link or code already is passed over as a whole.
PARTS = re.compile(
    r"(?P<kept><(?P<tag>a|code|pre)\b.*?</(?P=tag)>)"
    r"|\[(?P<key>[A-Z][A-Za-z]+\d\d)(?P<place>[^\]<>]*)\]",
    re.DOTALL,
)


def on_page_content(html: str, *, page: Page, files: Files, **_: Any) -> str:
    """The page with its citations linked; the bibliography itself stays as it is."""
    target = files.get_file_from_path(BIBLIOGRAPHY)
    if page.file.src_uri == BIBLIOGRAPHY or target is None:
        return html
    address = target.url_relative_to(page.file)

    def linked(match: re.Match[str]) -> str:
        if match["kept"]:
            return match["kept"]
        return f'<a href="{address}#{match["key"].lower()}">{match[0]}</a>'

    return PARTS.sub(linked, html)
