"""What ranks compare of their data sets, and data that can only be read from beginning to end."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.run_data import IndexedStream, _digests, indexed
from pytorch import group_program as program

VALUES = [
    torch.arange(4),
    torch.arange(4.0),
    torch.arange(4).reshape(2, 2),
    np.arange(4),
    np.arange(4, dtype=np.int32),
    [0, 1, 2, 3],
    {"x": torch.arange(4)},
    {"y": torch.arange(4)},
    (torch.arange(4), "label"),
    (torch.arange(4), "other"),
    [[0, 1], [2, 3]],
    [[0], [1, 2, 3]],
    "text",
    None,
]


def test_examples_of_all_kinds():
    """Types, shapes, names and values are told apart; a view is its numbers alone."""
    found = [_digests([value] * 5) for value in VALUES]
    assert len({one[0] for one in found}) == len(VALUES)
    assert all(list(one) == [0, 1, 2, 3] for one in found)
    wide = torch.arange(100)
    assert _digests([wide[:4]]) == _digests([torch.arange(4)])


@pytest.mark.parametrize(("count", "read"), [(0, []), (1, [0]), (3, [0, 1, 2]), (10, [0, 3, 6, 9])])
def test_which_are_read(count, read):
    """Four of them, the first and the last among them, or all."""
    assert list(_digests(list(range(count)))) == read


class Noisy(list):
    """Augmentation by one of the global generators."""

    draws = staticmethod(random.random)

    def __getitem__(self, index):
        return super().__getitem__(index) + self.draws()


@pytest.mark.parametrize("draws", [random.random, np.random.random, lambda: float(torch.rand(()))])
def test_augmentation_is_not_compared(draws):
    """And draws in the loop what it would have drawn."""
    data = Noisy([1.0, 2.0])
    data.draws = draws
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    assert _digests(data) is None
    after = draws()
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    assert draws() == after


def test_what_cannot_be_read_is_not_compared():
    """A loader will say more about it."""
    assert _digests({"a": 1}) is None
    assert _digests(program.Flipped(*program.examples().tensors)) is None


class Stream(IterableDataset):
    """Counts what is read."""

    def __init__(self, data, missing=0):
        self.data, self.missing = data, missing
        self.passes = self.read = 0

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        self.passes += 1
        for i in range(len(self.data) - self.missing):
            self.read += 1
            yield self.data[i]


def made(data, plan="0.3", **options):
    """A run, and its model."""
    torch.manual_seed(0)
    model = torch.nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "rng": 3, **options}
    return hs.torch.make_private(model, optimizer, data, program.plan_of(plan), **settings), model


@pytest.mark.parametrize("most", [None, 3])
def test_a_run_is_that_of_the_same_examples(most):
    """Weights are equal, and no step reads more than a pass of its own and that of the probe."""
    stream = Stream(program.examples())
    finals = []
    for data in (program.examples(), stream):
        run, model = made(data, physical_batch_size=most)
        program.train(run)
        finals.append(program.weights(model))
    assert torch.equal(*finals)
    assert stream.passes <= 2 * program.STEPS + 2


def test_a_batch_is_one_pass():
    """In any order, up to its last example; what lies ahead needs no new pass."""
    data = Stream(list(range(100)))
    stream = IndexedStream(data)
    assert stream.__getitems__([7, 3, 40, 3]) == [7, 3, 40, 3]
    assert (data.passes, data.read) == (1, 41)
    assert (stream[50], data.passes) == (50, 1)
    assert (stream[50], data.passes) == (50, 2)
    assert (stream[0], data.passes) == (0, 3)
    with pytest.raises(IndexError):
        stream[100]


def test_what_is_refused():
    """No length, several readers, and a stream that is shorter than it says."""

    class Endless(IterableDataset):
        """Without a length."""

        def __iter__(self):
            return iter(())

    with pytest.raises(InvalidParameter, match="needs `__len__`"):
        made(Endless())
    with pytest.raises(PlanMismatch, match="read by one process"):
        made(Stream(program.examples()), loader_options={"num_workers": 1})
    run, _ = made(Stream(program.examples(), missing=30))
    with pytest.raises(PlanMismatch, match="ended after 30 of the 60"):
        program.train(run)


def test_other_data_sets_are_left_alone():
    """They have indices."""
    data = program.examples()
    assert indexed(data, {}) is data
