"""The sum of gradients and noise: one rounding, one pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hockeystick.torch.recording import plain
from hockeystick.torch.sums import grouped_squares, squared_norms, with_noise


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_and_sum_are_rounded_once(dtype: torch.dtype) -> None:
    """In the noise's own type it is the double-precision result, rounded once, bit for bit."""
    generator = torch.Generator().manual_seed(1)
    total = torch.randn(2**18 + 3, dtype=torch.float64, generator=generator)
    noise = torch.randn(2**18 + 3, dtype=dtype, generator=generator)
    expected = ((total + noise.double()) / 7.0).to(dtype)
    found = with_noise(total, noise.clone(), unit=1.0, size=7.0, dtype=dtype)
    assert found.dtype == dtype
    assert torch.equal(found, expected)


@pytest.mark.parametrize("noise", [torch.tensor([3, -5]), torch.tensor([1.5, 0.25])])
def test_other_types_are_not_rounded(noise: torch.Tensor) -> None:
    """Sums for parameters in half precision, and integers, stay in double precision."""
    total = torch.tensor([1.0, 2.0], dtype=torch.float64)
    expected = (total + noise) * 0.1 / 3.0
    found = with_noise(total, noise, unit=0.1, size=3.0, dtype=torch.bfloat16)
    assert found.dtype == torch.float64
    assert torch.equal(found, expected)


def test_gradients_count_their_own_changes() -> None:
    """Parts of one row of noise do not share a version: a change of one is not one of the other."""
    row = torch.zeros(6)
    one, other = (
        with_noise(torch.ones(3).double(), part, unit=1.0, size=1.0, dtype=torch.float32)
        for part in (row[:3], row[3:])
    )
    before = other._version
    one.zero_()
    assert other._version == before


def test_groups_have_the_squares_of_their_parameters() -> None:
    """Each group sums its own parameters, and an infinite gradient stays in its group."""
    rows = [torch.randn(4, 3), torch.randn(4, 2, 2), torch.randn(4)[:, None]]
    rows[1][2] = float("inf")
    found = grouped_squares(rows, [1, 0, 1])
    np.testing.assert_array_equal(found[0], squared_norms(rows[1]))
    np.testing.assert_array_equal(found[1], squared_norms(rows[0]) + squared_norms(rows[2]))


def test_ordinary_arguments_are_passed_on_as_they_are() -> None:
    """Tensors in a tuple or by name need no copy; nested ones come back equal."""
    arguments = (torch.zeros(2), torch.ones(2))
    assert plain(arguments) is arguments
    named = {"target": torch.ones(2)}
    assert plain(named) is named
    nested = plain(([torch.ones(1)], 3))
    assert torch.equal(nested[0][0], torch.ones(1))
    assert nested[1] == 3
