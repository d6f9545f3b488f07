"""Importing the package stays light."""

from __future__ import annotations

import subprocess
import sys

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
    """Under half a second of work, without any of the heavy dependencies."""
    runs = [
        subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert all(run.stdout.split(maxsplit=1)[1].strip() == "[]" for run in runs)
    assert min(float(run.stdout.split()[0]) for run in runs) < 0.5
