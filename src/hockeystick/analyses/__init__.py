"""Analyses of plans, one file each; a new one is a file and a line here."""

from __future__ import annotations

from hockeystick.analyses import (
    asymptotic_gdp,
    decomposition,
    gaussian,
    known_participation,
    monte_carlo,
)
from hockeystick.analyses import convolution as profile
from hockeystick.analyses.conditional import method as conditional
from hockeystick.analyses.gram import method as gram
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction import method as poisson_reduction
from hockeystick.analyses.renyi import method as renyi
from hockeystick.analyses.renyi.mixture_moments import DEFAULT_BUDGET

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
        monte_carlo,
    )
}
