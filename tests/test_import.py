"""Importing the package stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys, time
start = time.process_time()
import hockeystick
seconds = time.process_time() - start
heavy = {"numba", "scipy.special", "matplotlib", "torch", "jax", "dp_accounting", "sqlalchemy"}
heavy |= {"typer", "rich", "plotly"}
print(seconds, sorted(heavy & set(sys.modules)))
"""


def test_import_is_fast_and_lean():
    """Under half a second of work in one of three tries, and without heavy dependencies."""
    for _ in range(3):
        command = [sys.executable, "-c", CODE]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, heavy = run.stdout.split(maxsplit=1)
        assert heavy.strip() == "[]"
        if float(seconds) < 0.5:
            return
    pytest.fail(f"the last of three imports took {seconds} s of CPU time")
