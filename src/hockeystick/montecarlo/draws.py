"""Draws of whole runs, what each is worth, and the sums that are kept of them.

delta(epsilon) is the mean of the hockey stick, 1 - e^epsilon/LR with the example and
1 - e^epsilon LR without it, where positive. Draws from a proposal count with their weight w, the
density of the run over that of the proposal. The value of a draw is called its payoff.

Draws from a good proposal R have payoffs Z = w * hockey stick of about the same size, but nothing
is known about the largest. So delta is split at a cap T: delta = E_R[min(Z, T)] + E_R[(Z - T)+].
The first part is a mean of draws in [0, T]; the second part is E_P[hockey stick * (1 - T/Z)+], a
mean over the run itself of draws that are nearly always 0.

The draws of a job are divided into pieces. A piece is a pure function of what is drawn, the seed
and the piece's number, and its size depends on the run alone. So the result does not depend on how
many workers there are, nor on one of them being lost and its piece drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.randomness import generator
from hockeystick.schemes.simulation import Drawn, Simulation

__all__ = [
    "ROUNDING",
    "Job",
    "Part",
    "Payoff",
    "Piece",
    "Sums",
    "draw_piece",
    "payoffs",
    "pieces_of",
]

# Steps in a piece: about half a second of work, so that a lost one costs little and handing one out
# costs nothing beside it. Runs so long that a piece would have few draws get this many.
PIECE, SMALLEST_PIECE = 20_000_000, 256
# Steps in a piece of tuples of replicas, of which few are drawn, and which may end early.
TUPLE_PIECE = 4_000_000
# Pieces of a job: a checkpoint keeps a line for each of them.
MOST_PIECES = 50_000

# What rounding may have taken from a mean, relatively: 1e-16 in each addition of a block of draws,
# of which there are far fewer than 1e7.
ROUNDING = 1e-8

Part = Literal["whole", "capped", "excess", "sequential"]


class Payoff(NamedTuple):
    """The hockey stick at `epsilon`, or a part of it: up to the cap, or what exceeds it.

    The excess refers to the proposal that is the simulation's `reference`. "sequential" is
    log (1 + s a) - log(1 + s (a - Z)) for the payoff Z, a = `cap` and s = `stake`, which is not
    negative and which a sequential trial adds up (sequential.py).
    """

    epsilon: float
    part: Part = "whole"
    cap: float = np.inf
    stake: float = 0.0


def payoffs(drawn: Drawn, payoff: Payoff, *, present: bool) -> FloatArray:
    """The payoff of each draw, by noise level and draw."""
    sign = -1.0 if present else 1.0
    stick = np.maximum(-np.expm1(np.minimum(payoff.epsilon + sign * drawn.losses, 0.0)), 0.0)
    worth = _weighted(stick, drawn.log_weights)
    if payoff.part == "capped":
        worth = np.minimum(worth, payoff.cap)
    elif payoff.part == "excess":
        reference = _weighted(stick, drawn.log_references)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.where(reference > payoff.cap, 1 - payoff.cap / reference, 0.0)
        # NaN stays NaN, so that it passes no trial.
        worth = np.where(np.isnan(reference), np.nan, worth * over)
    elif payoff.part == "sequential":
        raised = worth * (1 + ROUNDING)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A payoff above its bound is not a number here, and passes no trial.
            left = np.log1p(payoff.stake * (payoff.cap - raised))
        worth = math.log1p(payoff.stake * payoff.cap) - left
    return worth


def _weighted(stick: FloatArray, log_weights: FloatArray | None) -> FloatArray:
    """The payoff with its weight, which may overflow where the stick is 0."""
    if log_weights is None:
        return stick
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(stick == 0, 0.0, stick * np.exp(log_weights))


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over draws, by payoff and noise level."""

    draws: int
    totals: FloatArray
    squares: FloatArray
    largest: FloatArray

    @classmethod
    def nothing(cls, payoffs: Sized, levels: Sized) -> Self:
        """No draws yet."""
        shape = (len(payoffs), len(levels))
        return cls(0, np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def plus(self, other: Sums) -> Sums:
        """The sums over all draws together."""
        return Sums(
            self.draws + other.draws,
            self.totals + other.totals,
            self.squares + other.squares,
            np.maximum(self.largest, other.largest),
        )

    @property
    def means(self) -> FloatArray:
        """The mean payoff."""
        return self.totals / self.draws

    @property
    def variances(self) -> FloatArray:
        """The variance of a payoff, as the draws show it."""
        return np.maximum(self.squares / self.draws - self.means**2, 0.0)


@dataclass(frozen=True)
class Job:
    """Draws of one simulation, all with the same payoffs.

    `seed` is the entropy from which every piece has a generator of its own, `stream` tells apart
    the jobs that share it.
    """

    simulation: Simulation
    payoffs: tuple[Payoff, ...]
    draws: int
    seed: int
    stream: tuple[int, ...] = ()


@dataclass(frozen=True)
class Piece:
    """Some of the draws of a job."""

    job: Job
    number: int
    draws: int


def pieces_of(job: Job) -> Iterator[Piece]:
    """The pieces of a job, in the order in which they are added up."""
    run = job.simulation
    piece = PIECE if run.replicas is None else TUPLE_PIECE
    size = max(SMALLEST_PIECE, piece // run.plan.steps, -(-job.draws // MOST_PIECES))
    for number, start in enumerate(range(0, job.draws, size)):
        yield Piece(job, number, min(size, job.draws - start))


def draw_piece(piece: Piece) -> Sums:
    """Draw and add up; the draws themselves are not kept."""
    job = piece.job
    key = (*job.stream, piece.number)
    rng = generator(np.random.SeedSequence(job.seed, spawn_key=key))
    shape = (len(job.payoffs), len(job.simulation.noise_multipliers))
    totals, squares, largest = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    least_loss = min(payoff.epsilon for payoff in job.payoffs)
    runner = replace(job.simulation, least_loss=least_loss).prepared()
    for drawn in runner.draws(piece.draws, rng):
        for which, payoff in enumerate(job.payoffs):
            worth = payoffs(drawn, payoff, present=job.simulation.present)
            totals[which] += worth.sum(axis=1)
            squares[which] += (worth**2).sum(axis=1)
            np.maximum(largest[which], worth.max(axis=1), out=largest[which])
    return Sums(piece.draws, totals, squares, largest)
