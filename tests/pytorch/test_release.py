"""The sum of gradients and noise: one rounding, one pass, a few numbers at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hockeystick.torch import layouts, probe_outcomes
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


class PretendedGroup:
    """Ranks one after the other in one process: a rank sums its own part of what it is given."""

    def __init__(self, size: int, rank: int) -> None:
        self.size, self.rank = size, rank

    def sum_of_part(self, everything: torch.Tensor) -> torch.Tensor:
        """As if the other ranks had zeros."""
        return everything.view(self.size, -1)[self.rank].clone()

    def joined(self, part: torch.Tensor) -> torch.Tensor:
        """As if rank r had the same numbers plus 100 r."""
        return torch.cat([part + 100 * rank for rank in range(self.size)])


@pytest.mark.parametrize("shapes", [[(3, 2), (1,), (5,)], [(1,)], [(2,), (0,), (3,)]])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("at_once", [1, 2, 3, 1000])
def test_sums_are_exchanged_in_pieces(monkeypatch, shapes, ranks, at_once):
    """Every coordinate arrives at the rank that holds it, and comes back, for every piece."""
    monkeypatch.setattr(layouts, "EXCHANGED", at_once)
    parameters = [torch.zeros(*shape) for shape in shapes]
    sizes = [p.numel() for p in parameters]
    values = torch.arange(1.0, sum(sizes) + 1, dtype=torch.float64)
    parts = []
    for rank in range(ranks):
        layout = layouts.ReplicatedLayout(parameters, PretendedGroup(ranks, rank))
        (held,) = layout.held(list(values.clone().split(sizes)))
        parts.append(held)
        ((start, stop),) = layout.ranges
        assert torch.equal(held, values[start:stop])
    assert torch.equal(torch.cat(parts), values)
    layout = layouts.ReplicatedLayout(parameters, PretendedGroup(ranks, 0))
    length = -(-sum(sizes) // ranks)
    own = torch.zeros(length)
    own[: len(parts[0])] = parts[0].float()
    wanted = torch.cat([own + 100 * rank for rank in range(ranks)])[: sum(sizes)]
    found = layout.gradients([parts[0].float()])
    assert [tuple(g.shape) for g in found] == shapes
    assert torch.equal(torch.cat([g.flatten() for g in found]), wanted)


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_changes_are_compared_in_pieces(monkeypatch, at_once):
    """The largest relative change of a row, whatever is in double precision at a time."""
    source = torch.Generator().manual_seed(2)
    now = [torch.randn(4, *shape, generator=source) for shape in ((3, 5), (2,), (1,))]
    then = [rows + 1e-3 * torch.randn(rows.shape, generator=source) for rows in now]
    then[2][3] = now[2][3] = math.nan
    one, other = (torch.cat([r.double().flatten(1) for r in rows], dim=1) for rows in (now, then))
    lengths = torch.linalg.vector_norm(other[:3], dim=1)
    wanted = float((torch.linalg.vector_norm((one - other)[:3], dim=1) / lengths).max())
    monkeypatch.setattr(probe_outcomes, "AT_ONCE", at_once)
    assert probe_outcomes.relative_change(now, then) == pytest.approx(wanted, rel=1e-12)
    then[0][1, 2, 2] = math.inf
    assert probe_outcomes.relative_change(now, then) == math.inf
    flat = now[0].flatten()
    assert probe_outcomes.length_of(flat) == pytest.approx(float(flat.double().norm()), rel=1e-12)
    distance = float((flat.double() - 1.0).norm())
    ones = torch.ones_like(flat)
    assert probe_outcomes.length_of(flat, ones) == pytest.approx(distance, rel=1e-12)
    assert math.isnan(probe_outcomes.length_of(flat, ones * math.nan))
