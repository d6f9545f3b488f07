"""A candidate: a mixture with Markov structure, how it was made, and how its law is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hockeystick.analyses.gram.law.chain_sums import chain_sum_law, chain_work
from hockeystick.analyses.gram.law.moving_sums import moving_sum_law, moving_work
from hockeystick.analyses.gram.law.reading import SumLaw
from hockeystick.analyses.gram.law.task import MarkovMixture
from hockeystick.analyses.gram.order.chains import ChainMixture
from hockeystick.analyses.gram.order.cuts import Cut
from hockeystick.analyses.gram.order.moving_average import MovingAverage

__all__ = ["CHAINS", "GramCandidate", "Layout", "banded", "chained", "opened"]


class Recursion(NamedTuple):
    """How the law of a kind of mixture is computed, and about how many operations that takes."""

    law: Callable[[Any], SumLaw]
    work: Callable[[Any], float]


# Densities of states are sampled if terms have an independent part of about this share of what is
# new in a state (`law.state_lattices`).
OWN_TO_SAMPLE = 0.06

# How a candidate is made: the spacing on a line, or the cut of a ring.
Layout = int | Cut

CHAINS = Recursion(chain_sum_law, chain_work)
MOVING_AVERAGES = Recursion(moving_sum_law, moving_work)


@dataclass(frozen=True, eq=False)
class GramCandidate:
    """A mixture of which independent `copies`, averaged, dominate, or are dominated."""

    name: str
    mixture: MarkovMixture
    recursion: Recursion
    copies: int = 1
    # How it was made, for those beside it.
    layout: Layout = 1
    tilt: float = 0.0

    @property
    def kind(self) -> tuple[object, ...]:
        """What candidates have in common that coarse lattices treat alike."""
        cut = opened(self.layout)
        return isinstance(self.layout, Cut), self.rounds, cut.spacing, cut.mirrors

    @property
    def rounds(self) -> bool:
        """Whether its states are rounded, about: without independent parts nothing is sampled."""
        if not isinstance(self.mixture, ChainMixture):
            return True
        fresh = self.mixture.chain * (1 - self.mixture.rho**2)
        return self.mixture.own < OWN_TO_SAMPLE * fresh


def chained(name: str, mixture: ChainMixture) -> GramCandidate:
    """A candidate with a chain."""
    return GramCandidate(name, mixture, CHAINS)


def banded(name: str, mixture: MovingAverage) -> GramCandidate:
    """A candidate with few bands."""
    return GramCandidate(name, mixture, MOVING_AVERAGES)


def opened(layout: Layout) -> Cut:
    """As a cut of a ring that is not closed."""
    return layout._replace(closed=False) if isinstance(layout, Cut) else Cut(layout)
