"""What ranks compare of their data sets; the comparison itself is tested with groups."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from hockeystick.torch.run_data import _digests
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
