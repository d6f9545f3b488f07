"""The script of docs/training.md beside the same with Opacus: no more lines, and both run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def scripts() -> dict[str, str]:
    """Both, by the title of their code block."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r'```python title="(Opacus|Hockeystick)"\n(.*?)```', text, re.DOTALL)
    return dict(found)


def statements(code: str) -> int:
    """Lines of code: those on which a statement begins or continues, without comments."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.stmt, ast.expr)):
            lines |= {node.lineno, node.end_lineno} if isinstance(node, ast.expr) else {node.lineno}
    return len(lines)


def test_no_more_lines():
    """Counted without blank lines and comments, each with the same formatting."""
    found = scripts()
    assert found.keys() == {"Opacus", "Hockeystick"}
    assert statements(found["Hockeystick"]) <= statements(found["Opacus"])


@pytest.mark.slow
@pytest.mark.parametrize("which", ["Opacus", "Hockeystick"])
def test_both_run(which, capsys):
    """On the same small data, with an epsilon of at most what was asked."""
    exec(compile(scripts()[which], which, "exec"), {})
    epsilon = float(capsys.readouterr().out.split()[-1])
    assert 0 < epsilon <= 3.0 * (1.01 if which == "Opacus" else 1.0)
