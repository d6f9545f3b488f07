"""Gradients of a NumPy run: a row may not depend on the others of its batch."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import PlanMismatch
from hockeystick.training import PrivateRun
from hockeystick.training.gradients import checked_rows, halves

PLAN = hs.Plan(sampling=hs.FullBatch(), steps=3)
POINTS = np.random.default_rng(3).normal(size=(20, 4))


def run() -> PrivateRun:
    """Full batches of twenty points."""
    return PrivateRun(PLAN, examples=20, dimension=4, noise_multiplier=1.0, max_grad_norm=1.0)


@pytest.mark.parametrize(
    "gradients",
    [
        lambda batch: POINTS[batch] - POINTS[batch].mean(0),
        lambda batch: POINTS[batch] / len(batch),
        lambda batch: POINTS[batch] / np.abs(POINTS[batch]).max(),
        lambda batch: POINTS[batch] + 0.01 * np.roll(POINTS[batch], 1, axis=0),
        lambda batch: POINTS[batch] * (1.0 + (len(batch) > 10)),
    ],
    ids=["centred", "mean", "largest", "neighbour", "large batches"],
)
def test_rows_that_depend_on_others(gradients):
    """Clipping each row bounds nothing then; the run is over."""
    attacked = run()
    with pytest.raises(PlanMismatch, match="influence each other"):
        attacked.step(gradients)
    with pytest.raises(PlanMismatch, match="interrupted"):
        attacked.step(lambda batch: POINTS[batch])
    assert attacked.taken_steps == 0


def test_clean_rows_and_what_the_statement_says():
    """The facts of the probe, or that there was none because rows are random."""
    clean, random = run(), run()
    clean.step(lambda batch: POINTS[batch])
    stated = clean.statement(delta=1e-5)
    assert stated.probe == {
        "step": 1,
        "examples": 4,
        "largest_change": 0.0,
        "inputs_as_loaded": True,
    }
    assert "no influence of one on another was found" in stated.paragraph()
    source = np.random.default_rng(0)
    random.step(lambda batch: POINTS[batch] + source.normal(size=(len(batch), 4)))
    assert random.statement(delta=1e-5).probe is None
    assert "was not probed" in random.statement(delta=1e-5).paragraph()


@pytest.mark.parametrize("size", range(2, 9))
def test_every_two_are_apart_once(size):
    """And each division is one of everybody."""
    parts = halves(size)
    for one in range(size):
        for other in range(one):
            assert any((one in part) != (other in part) for part in parts)
    for first, second in zip(parts[::2], parts[1::2], strict=True):
        assert sorted(first + second) == list(range(size))


def test_refusals_do_not_show_gradients():
    """Messages end up in logs: they have the shape and no value."""
    rows = np.full((2, 3), 0.123456)
    rows[1, 0] = np.nan
    for given in (rows, rows[:1], rows.astype(str), rows.astype(complex)):
        with pytest.raises(hs.errors.InvalidParameter) as refusal:
            checked_rows(np.arange(2), lambda _, given=given: given, dimension=3)
        assert "0.123" not in str(refusal.value)
