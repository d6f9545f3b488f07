"""Algorithm 1 of the sampling-free paper, errata applied: plain Python, a dictionary of states."""

from __future__ import annotations

import sys
from pathlib import Path

import hockeystick as hs
import settings as s  # beside harness.py

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from references.ring import dictionary_moment


def bins(c):
    """The largest order alone."""
    strategy = hs.strategies.bsr(s.BINS["epochs"] * c["bins"], bands=c["bands"])
    kernel = (strategy.gram(spacing=c["bins"]) / s.BINS["noise"] ** 2).tolist()
    largest = c["largest"]
    divergence = dictionary_moment(kernel, c["bands"], largest) / (largest - 1)
    return None, divergence, [divergence]


CASES = {"50-bins": lambda: bins(s.BINS["compared"])}
