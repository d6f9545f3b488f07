"""Every Python block in the README and the docs runs."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from itertools import pairwise

import pytest

from documentation.pages import PAGES, ROOT, blocks, name_of

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

# PyTorch's run where it is installed.
PYTORCH = 'python title="PyTorch"'
TITLES = ("python", *([PYTORCH] if find_spec("torch") else []))
README = ROOT / "README.md"
EXTENDING = ROOT / "docs" / "extending.md"
# The first is traced by `test_architecture.py`; the second registers things, in its own process.
RUN_ELSEWHERE = (ROOT / "docs" / "architecture.md", EXTENDING)


def snippets(page):
    """The Python blocks of a page."""
    return [block.text for block in blocks(page) if block.info in TITLES]


class Recorder:
    """Prints, and remembers what each line of the running block printed last."""

    def __init__(self):
        self.lines = {}

    def __call__(self, *values, **options):
        """As `print`."""
        self.lines[sys._getframe(1).f_lineno] = " ".join(map(str, values))
        print(*values, **options)  # noqa: T201


def check_comments(code, printed):
    """What is printed is what the comment behind it begins with; how many numbers were compared."""
    compared = 0
    for number, line in enumerate(code.splitlines(), start=1):
        stated = re.search(r"print\(.*\)\s+# (.+)", line)
        if stated is None or number not in printed:
            continue
        words = zip(stated[1].split(), printed[number].split(), strict=False)
        for written, found in words:
            expected = written.rstrip(":,;")
            if re.fullmatch(r"-?\d+(\.\d+)?", expected):
                digits = len(expected.partition(".")[2])
                assert abs(float(found) - float(expected)) < 1.5 * 10**-digits, line
                compared += 1
            elif expected != found:
                break
    return compared


def check_words(code, printed):
    """Of the README's first block: three lines with comments, and one of them is no number."""
    stated = {
        number: comment[1]
        for number, line in enumerate(code.splitlines(), start=1)
        if (comment := re.search(r"print\(.*?\)\s+# (.+)", line))
    }
    assert len(stated) == 3
    words = {n: text for n, text in stated.items() if not re.fullmatch(r"[\d.]+", text)}
    assert words == {number: printed[number] for number in words}
    assert len(words) == 1


@pytest.mark.parametrize(
    "page", [p for p in PAGES if snippets(p) and p not in RUN_ELSEWHERE], ids=name_of
)
def test_snippets_run(page, tmp_path, monkeypatch, capsys):
    """All blocks of a page, in order, in one namespace; numbers in comments are true."""
    monkeypatch.chdir(tmp_path)
    recorder = Recorder()
    namespace: dict[str, object] = {"print": recorder}
    for code in snippets(page):
        recorder.lines.clear()
        exec(compile(code, str(page), "exec"), namespace)
        compared = check_comments(code, recorder.lines)
        if code == snippets(README)[0]:
            assert compared == 2
            check_words(code, recorder.lines)
    output = capsys.readouterr().out
    assert output or page != README
    for before, shown in pairwise(blocks(page)):
        is_output = shown.follows and not shown.info and not shown.text.startswith("$")
        if is_output and before.info == "python":
            assert " ".join(shown.text.split()) in " ".join(output.split())


def test_no_block_is_passed_over():
    """A block with another title would never run.

    Files of extensions do in `test_extending.py`, the two scripts side by side in
    `tests/pytorch/test_same_script.py`.
    """
    elsewhere = {f'python title="{title}"' for title in ("Hockeystick", "Opacus", "torchrun")}
    for page in PAGES:
        known = [block for block in blocks(page) if block.info in {*TITLES, PYTORCH, *elsewhere}]
        files = [b for b in blocks(page) if page == EXTENDING and b.info.endswith('.py"')]
        assert len(known) + len(files) == page.read_text().count("```python")


def test_comments_are_compared():
    """Numbers and words up to the first other word; the last digit may be off by rounding."""
    code = "print(x)  # 1.86 proven, by far\nprint(y)  # some 3\n"
    assert check_comments(code, {1: "1.8609 proven", 2: "4"}) == 1
    with pytest.raises(AssertionError):
        check_comments(code, {1: "1.9 proven"})
