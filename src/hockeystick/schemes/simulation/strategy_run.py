"""Runs whose participations are priced column by column of the strategy."""

from __future__ import annotations

from hockeystick.plan import Plan
from hockeystick.schemes.simulation.columns import columns_of
from hockeystick.schemes.simulation.proposals import ParticipationLaw, ParticipationRun
from hockeystick.schemes.simulation.registry import Simulation

__all__ = ["columns_apart", "overlaps_remark", "strategy_run"]


def columns_apart(plan: Plan) -> bool:
    """Whether columns of different participations never overlap, so that recursions are exact."""
    return plan.strategy.bands <= plan.sampling.least_gap


def overlaps_remark(plan: Plan) -> str | None:
    """More bands than the separation, so that columns of participations overlap: r-min-sep."""
    if columns_apart(plan):
        return None
    return (
        f"more bands ({plan.strategy.bands:,}) than the separation ({plan.sampling.least_gap:,}): "
        "overlaps are bounded (r-min-sep)"
    )


def strategy_run(run: Simulation, law: ParticipationLaw) -> ParticipationRun:
    """The run with the columns of its plan's strategy.

    Overlaps that the recursion cannot see lower the likelihood ratio of a run without the example;
    each participation has at most `held` copies.
    """
    columns = columns_of(run.plan)
    apart = columns_apart(run.plan)
    if run.present or apart:
        return ParticipationRun(run, columns, law, apart)
    overlaps = columns.overlaps(run.plan.sampling.least_gap)
    return ParticipationRun(run, columns, law, apart, run.held * overlaps)
