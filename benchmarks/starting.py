"""Processes that are timed from their start; the standard library only."""

from __future__ import annotations

import subprocess
import sys
from functools import partial


def whole_process(*command):
    """Nothing is answered: how long the command takes is what is asked."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return None, None


def importing(package):
    """A fresh interpreter that imports the package."""
    return partial(whole_process, sys.executable, "-c", f"import {package}")
