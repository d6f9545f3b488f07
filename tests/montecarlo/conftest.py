"""A question that takes several pieces of draws."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.draws import draw_piece

PLAN = hs.Plan(
    sampling=hs.MinSep(rate=0.1, separation=4), steps=20, strategy=strategies.bsr(20, bands=4)
)
PIECES = 8


@pytest.fixture(name="small_pieces")
def _small_pieces(monkeypatch):
    """Several pieces of few draws."""
    monkeypatch.setattr("hockeystick.montecarlo.draws.PIECE", 20 * 500)


def estimated(*, seed=3, draws=500 * PIECES - 100, epsilon=0.5, plan=PLAN, **options):
    """A question that takes several pieces for one direction."""
    return hs.estimate_profile(
        plan,
        noise_multiplier=1.0,
        epsilons=[epsilon],
        direction="remove",
        draws=draws,
        seed=seed,
        execution=hs.Execution(**options),
    )


@pytest.fixture(name="fresh_draws")
def count_fresh_draws(monkeypatch):
    """The pieces that are really drawn."""
    drawn = []

    def counting(piece):
        drawn.append(piece.number)
        return draw_piece(piece)

    monkeypatch.setattr("hockeystick.montecarlo.drawing.draw_piece", counting)
    return drawn
