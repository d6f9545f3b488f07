"""Integrals over the cells between given edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = ["checked_edges", "gauss_legendre"]


def checked_edges(edges: Any) -> FloatArray:
    """At least two increasing numbers."""
    grid = check.vector("edges", edges)
    if grid.ndim != 1 or grid.size < 2 or not np.all(np.diff(grid) > 0):
        raise InvalidParameter("edges", "at least two increasing numbers", edges)
    return grid


def gauss_legendre(edges: FloatArray, *, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights, one row for each cell; exact for polynomials up to order 2 nodes - 1."""
    points, weights = np.polynomial.legendre.leggauss(check.positive_integer("nodes", nodes))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return middle[:, None] + half[:, None] * points, half[:, None] * weights
