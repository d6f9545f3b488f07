"""Loops over epochs: the same steps as one pass, in parts."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.errors import BudgetExceeded, InvalidParameter, PlanMismatch
from hockeystick.torch.forms import EpochSplit


@given(steps=st.integers(1, 400), data=st.data())
def test_epochs_are_as_equal_as_possible(steps, data):
    """Their lengths differ by one at most and add up; each step is in the epoch `at` says."""
    split = EpochSplit(steps, data.draw(st.integers(1, steps)))
    lengths = [split.length(e) for e in range(split.count)]
    assert sum(lengths) == steps
    assert max(lengths) - min(lengths) <= 1
    of_steps = [e for e, length in enumerate(lengths) for _ in range(length)]
    assert [split.at(taken) for taken in range(steps)] == of_steps
    assert split.at(steps) == split.count - 1


def test_the_lengths_of_a_common_run():
    """2,344 steps in 20 epochs: 117 or 118."""
    split = EpochSplit(2344, 20)
    assert {split.length(e) for e in range(20)} == {117, 118}


def test_the_plain_habit(runs):
    """Batches, noise and weights are those of one pass over all steps."""
    whole = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded(), epochs=5)
    parts, lengths = [], []
    for _ in range(5):
        assert len(run.loader) in (3, 4)
        parts.append(runs.train(run))
        lengths.append(len(run.loader))
        assert len(parts[-1][0]) == lengths[-1]
    assert sum(lengths) == 16 == run.taken_steps
    assert [b for part in parts for b in part[0]] == whole[0]
    assert torch.equal(parts[-1][1][-1], whole[1][-1])
    assert len(run.loader) == lengths[-1]
    with pytest.raises(PlanMismatch, match=r"16 steps of the 5 epochs .* run\.epochs\(\)"):
        iter(run.loader)


def test_one_pass_is_the_whole_run_without_epochs(runs):
    """The length stays, and a further pass says what to write."""
    run = runs.private(runs.banded())
    assert len(run.loader) == 16
    runs.train(run)
    assert len(run.loader) == 16
    with pytest.raises(PlanMismatch, match="give make_private epochs="):
        iter(run.loader)


@pytest.mark.parametrize("epochs", [None, 4])
def test_epochs_of_the_run(runs, epochs):
    """Without `epochs`, passes in which as many examples are expected as there are."""
    whole = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded(), epochs=epochs)
    criterion, seen, lengths = run.loss(runs.LinearLoss()), [], []
    for epoch in run.epochs():
        assert epoch.number == len(lengths)
        lengths.append(len(epoch))
        for points, numbers in epoch:
            criterion(run.model(points)).backward()
            run.optimizer.step()
            seen.append(numbers.tolist())
        with pytest.raises(PlanMismatch, match=r"of this epoch are taken|16 steps"):
            iter(epoch)
    assert seen == whole[0]
    assert lengths == ([4, 4, 4, 4] if epochs else [8, 8])
    assert list(run.epochs()) == []


def test_a_break_loses_nothing(runs):
    """The next pass takes what is left of the epoch; an epoch takes what is left before its end."""
    whole = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded(), epochs=4)
    parts = [runs.train(run, until=2), runs.train(run)]
    assert run.taken_steps == 4
    parts += [runs.train(run, until=5)]
    next(iter(run.loader))  # loaded, and no step: it comes again
    for epoch in run.epochs():
        criterion, batches = run.loss(runs.LinearLoss()), []
        for points, numbers in itertools.islice(epoch, 3 if epoch.number == 2 else None):
            criterion(run.model(points)).backward()
            run.optimizer.step()
            batches.append(numbers.tolist())
        parts.append((batches, []))
    assert [len(part[0]) for part in parts] == [2, 2, 1, 3, 3, 5]
    assert [b for part in parts for b in part[0]] == whole[0]


def test_a_restored_state_goes_on_in_its_epoch(runs):
    """Also if the new run splits its steps otherwise: only steps are accounted."""
    whole = runs.train(runs.private(runs.banded()))
    run = runs.private(runs.banded(), epochs=4)
    runs.train(run)
    runs.train(run, until=6)
    for epochs, length, rest in ((4, 4, 2), (2, 8, 2), (None, 16, 10)):
        other = runs.private(runs.banded(), epochs=epochs, rng=8)
        other.load_state_dict(run.state_dict())
        assert len(other.loader) == length
        batches, _ = runs.train(other)
        assert batches == whole[0][6 : 6 + rest]
        assert len(other.loader) == length


def test_physical_batches_are_steps_in_the_length(runs):
    """`len` counts updates, however many parts their batches have."""
    run = runs.private(runs.banded(), epochs=4, physical_batch_size=2)
    assert len(run.loader) == 4
    batches, _ = runs.train(run)
    assert run.taken_steps == 4 < len(batches)


def test_passes_end_with_the_filter(runs):
    """In both loops; a further pass says so."""
    ends = []
    for own in (True, False):
        filter_ = hs.filters.Gaussian(mu=2.0)
        run = runs.private(hs.Plan(sampling=hs.FullBatch(), steps=40), epochs=20, filter=filter_)
        for one in run.epochs() if own else itertools.repeat(run.loader):
            for points, _ in one:
                run.loss(runs.LinearLoss())(run.model(points)).backward()
                run.optimizer.step()
            if run.finished:
                break
        assert run.stopped_by == "filter"
        ends.append(run.taken_steps)
        with pytest.raises(BudgetExceeded, match=r"run\.epochs\(\)"):
            iter(run.loader)
    assert ends[0] == ends[1] == 9


@pytest.mark.parametrize("epochs", [0, -1, 1.5, float("nan"), True, 17])
def test_numbers_of_epochs_that_are_refused(runs, epochs):
    """An integer of at least 1 and at most the steps."""
    with pytest.raises(InvalidParameter, match="epochs"):
        runs.private(runs.banded(), epochs=epochs)


def test_a_run_says_what_it_is(runs):
    """What is drawn, with which noise, how far it is."""
    run = runs.private(runs.banded())
    assert "TorchRun(" in repr(run)
    assert repr(run).endswith("0 of 16 steps taken)")
