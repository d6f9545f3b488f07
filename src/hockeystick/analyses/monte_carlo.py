"""`monte-carlo`: draws of whole runs bound delta at one epsilon [DongGanesh26, Section 2.5]."""

from __future__ import annotations

from hockeystick.analyses.method import Method, Request
from hockeystick.guarantee import Analysis
from hockeystick.montecarlo.settings import MonteCarlo
from hockeystick.plan import Plan

__all__ = ["METHOD", "with_settings"]


def with_settings(settings: MonteCarlo) -> Method:
    """The method that draws as the settings say. Simulations are loaded when it is used."""

    def analyse(request: Request) -> Analysis:
        """Draw at once: O(draws * steps * bands) for each direction."""
        from hockeystick.montecarlo.points import confidence_bound

        assert request.noise_multiplier is not None
        bound = confidence_bound(
            request.plan, request.noise_multiplier, request.directions, settings
        )
        return Analysis(MonteCarlo.name, METHOD.kind_for(request.plan), bound)

    return Method(
        name=MonteCarlo.name,
        kind="confidence",
        summary="draws of whole runs: an upper confidence bound on delta at one epsilon",
        condition=_condition,
        analyse=analyse,
        by_draws=True,
    )


def _condition(plan: Plan) -> str | None:
    from hockeystick.schemes.simulation import missing_simulation

    return missing_simulation(plan)


METHOD = with_settings(MonteCarlo())
