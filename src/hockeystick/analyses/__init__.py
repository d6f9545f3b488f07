"""Analyses of plans, one file or folder each.

A new analysis is a `Method`. It is known to `account`, `methods` and the command line once it is
registered, with one line: `register(METHOD)`.
"""

from __future__ import annotations

from hockeystick.analyses import (
    asymptotic_gdp,
    chain,
    decomposition,
    few_neighbours,
    gaussian,
    monte_carlo,
)
from hockeystick.analyses import convolution as profile
from hockeystick.analyses.conditional import method as conditional
from hockeystick.analyses.gram import method as gram
from hockeystick.analyses.known_participation import method as known_participation
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction import method as poisson_reduction
from hockeystick.analyses.renyi import method as renyi
from hockeystick.analyses.renyi.mixture_moments import DEFAULT_BUDGET
from hockeystick.errors import InvalidParameter

__all__ = ["DEFAULT_BUDGET", "METHODS", "Method", "Request", "register"]

METHODS: dict[str, Method] = {}
"""Every registered analysis by its name, in the order in which they are shown."""


def register(method: Method) -> Method:
    """Make an analysis known by its name, to `account`, `methods` and the command line.

    Parameters
    ----------
    method
        What the analysis declares about itself. Registering the same one again changes nothing.

    Returns
    -------
    Method
        The method itself.

    Raises
    ------
    InvalidParameter
        If it is no `Method`, or another analysis has the name.
    """
    given: object = method
    if not isinstance(given, Method):
        raise InvalidParameter("method", "a Method", given)
    known = METHODS.setdefault(method.name, method)
    if known is not method:
        raise InvalidParameter("method", f"named other than {', '.join(METHODS)}", method.name)
    return method


for _module in (
    gaussian,
    known_participation,
    profile,
    renyi,
    conditional,
    gram,
    decomposition,
    poisson_reduction,
    few_neighbours,
    chain,
    asymptotic_gdp,
    monte_carlo,
):
    register(_module.METHOD)
