"""Analyses of plans, one file or folder each; here their registry, and the one that draws.

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
    poisson_reduction,
    renyi,
)
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.renyi.mixture_moments import DEFAULT_BUDGET
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Analysis
from hockeystick.montecarlo import MonteCarlo
from hockeystick.plan import Plan

__all__ = ["DEFAULT_BUDGET", "METHODS", "Method", "Request", "monte_carlo", "register"]

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


def monte_carlo(settings: MonteCarlo) -> Method:
    """`monte-carlo`: draws of whole runs bound delta at one epsilon [DongGanesh26, Section 2.5].

    The method draws as the settings say. Simulations are loaded when it is used.
    """

    def analyse(request: Request) -> Analysis:
        """Draw at once: O(draws * steps * bands) for each direction."""
        from hockeystick.montecarlo.points import confidence_bound

        assert request.noise_multiplier is not None
        bound = confidence_bound(
            request.plan, request.noise_multiplier, request.directions, settings
        )
        return Analysis(MonteCarlo.name, METHODS[MonteCarlo.name].kind_for(request.plan), bound)

    return Method(
        name=MonteCarlo.name,
        kind="confidence",
        summary="draws of whole runs: an upper confidence bound on delta at one epsilon",
        condition=_cannot_be_drawn,
        analyse=analyse,
        by_draws=True,
    )


def _cannot_be_drawn(plan: Plan) -> str | None:
    from hockeystick.schemes.simulation import missing_simulation

    return missing_simulation(plan)


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
    monte_carlo(MonteCarlo()),
):
    register(_method)
