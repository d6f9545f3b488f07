"""Every Python block in the README and the docs runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def snippets(page):
    """The Python blocks of a page."""
    return BLOCK.findall(page.read_text())


@pytest.mark.parametrize("page", [p for p in PAGES if snippets(p)], ids=lambda p: p.name)
def test_snippets_run(page, tmp_path, monkeypatch, capsys):
    """All blocks of a page, in order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for code in snippets(page):
        exec(compile(code, str(page), "exec"), namespace)
    assert capsys.readouterr().out or page.name != "README.md"


@pytest.mark.slow
def test_readme_shows_true_numbers(tmp_path, monkeypatch, capsys):
    """The numbers in the comments of the README's first block are the ones that it prints."""
    monkeypatch.chdir(tmp_path)
    code = snippets(ROOT / "README.md")[0]
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.split("\n")
    promised = re.findall(r"print\(.*?\)\s+# (.+)", code)
    assert len(promised) == 3
    for text, expected in zip(printed, promised, strict=False):
        if re.fullmatch(r"[\d.]+", expected):
            digits = len(expected.split(".")[1])
            assert round(float(text), digits) == pytest.approx(
                float(expected), abs=1.5 * 10**-digits
            )
        else:
            assert text == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_local_links(page):
    """Links to files of the repository lead somewhere."""
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing
