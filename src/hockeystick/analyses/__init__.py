"""Analyses of plans, one file each; a new one is a file and a line here."""

from __future__ import annotations

from hockeystick._numerics.mixture_moments import DEFAULT_BUDGET
from hockeystick.analyses import (
    asymptotic_gdp,
    conditional,
    decomposition,
    gaussian,
    gram,
    known_participation,
    poisson_reduction,
    profile,
    renyi,
)
from hockeystick.analyses.method import Method, Request

__all__ = ["DEFAULT_BUDGET", "METHODS", "Method", "Request"]

# In the order in which they are shown.
METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (
        gaussian,
        known_participation,
        profile,
        renyi,
        conditional,
        gram,
        decomposition,
        poisson_reduction,
        asymptotic_gdp,
    )
}
