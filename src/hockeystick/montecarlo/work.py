"""Cutting a number of draws into pieces that anybody may draw, in any order.

A piece is a pure function of what is drawn, the seed and the piece's number. Its size depends on
the run alone, so the result does not depend on how many workers there are, nor on one of them being
lost and its piece drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hockeystick.montecarlo.payoff import Payoff, payoffs
from hockeystick.montecarlo.tally import Tally
from hockeystick.randomness import generator
from hockeystick.schemes.simulation import Simulation

__all__ = ["Job", "Piece", "draw_piece", "pieces_of"]

# Steps in a piece: about half a second of work.
PIECE = 20_000_000
SMALLEST_PIECE = 256
# Pieces of a job, so that what is remembered of them stays small.
MOST_PIECES = 50_000


@dataclass(frozen=True)
class Job:
    """Draws of one simulation, all priced by the same payoffs.

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
    size = max(SMALLEST_PIECE, PIECE // job.simulation.plan.steps, -(-job.draws // MOST_PIECES))
    for number, start in enumerate(range(0, job.draws, size)):
        yield Piece(job, number, min(size, job.draws - start))


def draw_piece(piece: Piece) -> Tally:
    """Draw, price, add up and forget."""
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
    return Tally(piece.draws, totals, squares, largest)
