"""Gram matrices and queries that the tests of the search share."""

from __future__ import annotations

import hockeystick as hs
from hockeystick.analyses.gram.search.evaluation import GramQuery

__all__ = ["KERNELS", "QUERIES", "kernel_of"]

QUERIES = {
    "epsilon": GramQuery(1e-4, None, 1e-10),
    "delta": GramQuery(None, 0.5, 1e-10),
}
KERNELS = {
    "ring": (hs.strategies.bsr(60, 12), 20),
    "arc": (hs.strategies.bsr(60, 3), 20),
    "line": (hs.strategies.band_mf(20, 6), 20),
}


def kernel_of(name, *, noise=1.0):
    """The Gram matrix of a plan, at a noise relative to the longest mean."""
    strategy, bins = KERNELS[name]
    gram = strategy.gram(spacing=bins)
    return gram / (gram.max() * noise**2)
