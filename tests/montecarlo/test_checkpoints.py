"""What was drawn survives an interruption, and is never taken for something else."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import InvalidParameter
from montecarlo.conftest import PIECES, PLAN, estimated

pytestmark = pytest.mark.usefixtures("small_pieces")


class Interruption:
    """Progress that is interrupted after some messages."""

    def __init__(self, after):
        self.said, self._after = [], after

    def __call__(self, text):
        """Remember, and interrupt."""
        self.said.append(text)
        if len(self.said) == self._after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("seed", [3, None])
def test_an_interrupted_question_goes_on(tmp_path, fresh_draws, seed):
    """The same numbers in the end, and nothing that was counted is drawn again."""
    path = tmp_path / "draws.json"
    with pytest.raises(KeyboardInterrupt):
        estimated(checkpoint=path, progress=Interruption(4), workers=1, seed=seed)
    stored = json.loads(path.read_text(encoding="utf-8"))
    known = len(stored["pieces"])
    assert known >= 4
    fresh_draws.clear()
    resumed = estimated(checkpoint=path, workers=2, seed=seed)
    assert len(fresh_draws) == PIECES - known
    assert resumed == estimated(seed=int(stored["seed"]))


def test_an_answered_question_needs_no_draws(tmp_path, fresh_draws):
    """The file holds the whole answer."""
    path = tmp_path / "draws.json"
    first = estimated(checkpoint=path)
    fresh_draws.clear()
    assert estimated(checkpoint=path) == first
    assert fresh_draws == []


def test_a_verification_can_be_interrupted(tmp_path):
    """Pilots and trials alike."""
    path = tmp_path / "draws.json"
    question = {"noise_multiplier": 1.5, "epsilon": 1.0, "delta": 0.2, "seed": 6}
    whole = hs.verify(PLAN, **question)
    interrupted = hs.Execution(checkpoint=path, progress=Interruption(3), workers=1)
    with pytest.raises(KeyboardInterrupt):
        hs.verify(PLAN, execution=interrupted, **question)
    resumed = hs.verify(PLAN, execution=hs.Execution(checkpoint=path), **question)
    assert resumed.answer(epsilon=1.0) == whole.answer(epsilon=1.0)


OTHER_PLANS = {
    "scheme": hs.Plan(sampling=hs.MinSep(rate=0.2, separation=4), steps=20, strategy=PLAN.strategy),
    "strategy": hs.Plan(sampling=PLAN.sampling, steps=20, strategy=strategies.bsr(20, bands=3)),
}


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 0.6},
        {"draws": 999},
        {"seed": 4},
        {"plan": OTHER_PLANS["scheme"]},
        {"plan": OTHER_PLANS["strategy"]},
    ],
)
def test_a_checkpoint_of_another_question_is_refused(tmp_path, other):
    """And left as it is."""
    path = tmp_path / "draws.json"
    estimated(checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(InvalidParameter, match="checkpoint"):
        estimated(checkpoint=path, **other)
    assert path.read_bytes() == before


LOWER = np.tril(np.ones((20, 20)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (strategies.from_matrix(LOWER), strategies.from_matrix(LOWER + np.eye(20))),
        (strategies.band_mf(20, 4), strategies.band_mf(20, 4, error="max")),
        tuple(
            strategies.band_mf(20, 4, workload=strategies.momentum(20, decay=decay))
            for decay in (0.5, 0.9)
        ),
    ],
    ids=["matrices", "errors", "workloads"],
)
def test_strategies_with_the_same_description_are_told_apart(tmp_path, first, second):
    """Draws of one strategy say nothing about another, whatever they are called."""
    path = tmp_path / "draws.json"
    assert first != second
    scheme = hs.BallsInBins(bins=4)
    estimated(checkpoint=path, plan=hs.Plan(sampling=scheme, steps=20, strategy=first))
    with pytest.raises(InvalidParameter, match="checkpoint"):
        estimated(checkpoint=path, plan=hs.Plan(sampling=scheme, steps=20, strategy=second))


def test_pieces_of_another_size_are_not_taken(tmp_path, monkeypatch):
    """Fewer draws than a piece has would make every mean too small."""
    path = tmp_path / "draws.json"
    monkeypatch.setattr("hockeystick.montecarlo.draws.PIECE", 20 * 250)
    with pytest.raises(KeyboardInterrupt):
        estimated(checkpoint=path, progress=Interruption(4), workers=1)
    monkeypatch.setattr("hockeystick.montecarlo.draws.PIECE", 20 * 500)
    resumed = None
    with suppress(InvalidParameter):
        resumed = estimated(checkpoint=path, workers=1)
    assert resumed in (None, estimated())


@pytest.mark.parametrize("content", ["", "{}", "[1, 2]", '{"format": 1', "null", "\x00\xff"])
def test_a_damaged_checkpoint_is_refused(tmp_path, content):
    """And left as it is."""
    path = tmp_path / "draws.json"
    path.write_text(content, encoding="latin-1")
    before = path.read_bytes()
    with pytest.raises(InvalidParameter, match="checkpoint"):
        estimated(checkpoint=path)
    assert path.read_bytes() == before


def test_a_checkpoint_without_a_folder_is_refused(tmp_path, fresh_draws):
    """Before anything is drawn."""
    with pytest.raises(InvalidParameter, match="checkpoint"):
        estimated(checkpoint=tmp_path / "nowhere" / "draws.json")
    assert fresh_draws == []
