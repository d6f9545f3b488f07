"""Analyses of plans, one file or folder each.

A new analysis is a `Method`. It is known to `account`, `methods` and the command line once it is
registered, with one line: `register(METHOD)`.
"""

from __future__ import annotations

from hockeystick.analyses import (
    chain,
    conditional,
    convolution,
    few_neighbours,
    gaussian,
    gram,
    known_participation,
    monte_carlo,
    poisson_reduction,
    renyi,
)
from hockeystick.analyses.method import Method, Request
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


for _method in (
    gaussian.KNOWN,
    known_participation.METHOD,
    convolution.PROFILE,
    renyi.METHOD,
    conditional.METHOD,
    gram.METHOD,
    convolution.DECOMPOSITION,
    poisson_reduction.METHOD,
    few_neighbours.METHOD,
    chain.METHOD,
    gaussian.LIMIT,
    monte_carlo.METHOD,
):
    register(_method)
