"""Every Python block in the README and the docs runs; those titled PyTorch if it is installed."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python(?: title=\"(PyTorch)\")?\n(.*?)```", re.DOTALL)
HAS_TORCH = find_spec("torch") is not None and find_spec("opacus") is not None


def snippets(page):
    """The Python blocks of a page that can run here."""
    found = BLOCK.findall(page.read_text())
    return [code for title, code in found if HAS_TORCH or not title]


@pytest.mark.filterwarnings("ignore:Full backward hook")
@pytest.mark.parametrize("page", [p for p in PAGES if snippets(p)], ids=lambda p: p.name)
def test_snippets_run(page, tmp_path, monkeypatch, capsys):
    """All blocks of a page, in order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for code in snippets(page):
        exec(compile(code, str(page), "exec"), namespace)
    assert capsys.readouterr().out or page.name != "README.md"


def test_no_block_is_passed_over():
    """A block with another title would never run."""
    for page in PAGES:
        text = page.read_text()
        assert len(BLOCK.findall(text)) == text.count("```python")


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
