"""Processes that are timed from their start; the standard library only."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial


def whole_process(*command):
    """Nothing is answered: how long the command takes is what is asked."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return None, None


def printed_json(*command):
    """What the command prints."""
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def script(code):
    """A fresh interpreter that runs the code."""
    return partial(whole_process, sys.executable, "-c", code)


def importing(package):
    """A fresh interpreter that imports the package."""
    return script(f"import {package}")
