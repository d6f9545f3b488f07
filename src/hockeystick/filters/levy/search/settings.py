"""The tunables of the search for a Levy process.

`benchmarks/levy_settings.py` designs a process with each of them halved and doubled, and prints how
many of the expected steps it allows and how long the design takes. For blocks of 50 steps at rate
0.01 and for single steps at rate 0.1 no change allows more than 0.4 % more steps, or 0.8 % fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT", "SearchSettings"]


@dataclass(frozen=True)
class SearchSettings:
    """How a process is designed: any choice is valid; tightness and time depend on it."""

    # -- what the process is made of --------------------------------------------------------------
    reserve: float = 0.01
    """Share of delta that pays for what is killed: about that share of epsilon is lost."""
    catalysts: tuple[float, ...] = (0.03, 0.01, 0.003)
    """Catalysts that are tried, as shares of the variance of the whole run; the first one also
    settles the length of the run."""
    kinds_of_jumps: int = 24
    """Sizes of jumps, in geometric progression."""
    finest: int = 128
    """Lattice steps of the largest jump."""
    most_atoms: int = 20_000
    """Atoms of the lattice; the cost of a charge is proportional to it."""
    span_of_epsilon: float = 8.0
    """The lattice is this many times as long as epsilon, so that what is cut is far below delta."""
    largest_jump: float = 300.0
    """In nats: the square of e^x has to be a double precision number."""
    digits: int = 4
    """Significant digits of a process: short enough to be written down."""

    # -- what it is designed for ------------------------------------------------------------------
    noise_levels: int = 4
    """Noise multipliers that stand for a range; one fewer where there are several rates."""
    rate_levels: int = 2
    """Rates that stand for a range."""
    unexpected_weight: float = 0.05
    """Weight of a point of that grid that is not itself expected."""
    smallest_rate: float = 1e-6
    """Smaller rates are designed for as if they were this: a run of them has no end in sight."""
    shortest_run: float = 1e-3
    """No run is taken to be shorter than this many blocks."""
    revised_by: float = 1.5
    """A design for a run that turns out longer or shorter by this factor is made again."""
    most_revisions: int = 4
    """How often: each time some seconds."""

    # -- the linear programmes --------------------------------------------------------------------
    first_gaussian: float = 0.3
    """Share of the variance that the first guess leaves to the Gaussian part."""
    smallest_gaussian: float = 0.25
    """Least share of the jumps' variance that the Gaussian part has: tiny steps, which have only a
    tiny part of the catalyst, could not be covered otherwise."""
    most_rounds: int = 10
    """Linear programmes, one after the other."""
    enough: float = 3e-4
    """A relative gain below this ends them."""
    first_radius: float = 1.0
    """How far a programme may move each number at once, relative to itself."""
    smallest_radius: float = 0.02
    """Steps that fail shrink the radius; below this nothing better is found."""
    largest_radius: float = 2.0
    """Steps that succeed widen it up to this."""
    floor_of_rates: float = 0.05
    """Rates that are 0 may move by this share of the largest one."""
    points: int = 45
    """Points of each curve that are covered, equally spaced in the logarithm of its height."""
    linear_points: int = 15
    """More points, equally spaced in the loss."""
    wider: float = 1.3
    """By which factor brackets of times are widened."""
    time_accuracy: float = 2e-4
    """To which times are found; charges are found again, to their own accuracy."""
    largest_time: float = 1e4
    """A process that needs this many times the guess covers nothing."""
    largest_exponent: float = 500.0
    """Of e^(order * jump) in the cost: keeps sums of them finite."""


DEFAULT = SearchSettings()
