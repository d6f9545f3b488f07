"""The noise of a plan in the shapes of a model's parameters."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.torch import TorchNoiseStream

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=6, strategy=hs.strategies.bsr(6, bands=3))
SHAPES = [(3, 4), (5,), (2, 1, 2)]


def stream(rng: int | None = 3, dtype=None, **changes) -> TorchNoiseStream:
    """Noise for three tensors."""
    like = [torch.zeros(shape, dtype=dtype or torch.float32) for shape in SHAPES]
    scale = {"noise_multiplier": 2.0, "max_grad_norm": 0.25, **changes}
    return TorchNoiseStream(PLAN, like, rng=rng, **scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_is_the_noise_of_the_plan_cut_into_parameters(dtype):
    """The same seed, and the scale is noise multiplier times clip norm."""
    wanted = PLAN.noise(21, scale=0.5, dtype=dtype, rng=3)
    rows = list(stream(dtype=getattr(torch, dtype)))
    assert len(rows) == PLAN.steps
    for row, theirs in zip(rows, wanted, strict=True):
        assert [tuple(part.shape) for part in row] == SHAPES
        assert np.array_equal(torch.cat([part.flatten() for part in row]).numpy(), theirs)


def test_a_saved_state_goes_on_with_the_same_noise():
    """Through a file that is read without trust."""
    first = stream(rng=None)
    next(first), next(first)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = stream(rng=8)
    second.load_state_dict(torch.load(file))
    assert second.step == 2
    for mine, theirs in zip(second, first, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_states_of_another_stream_are_refused():
    """Another scale is another mechanism."""
    with pytest.raises(InvalidParameter, match="scale"):
        stream().load_state_dict(stream(noise_multiplier=1.0).state_dict())


def test_parameters_that_noise_cannot_be_added_to_are_refused():
    """Integers, and none at all."""
    with pytest.raises(InvalidParameter, match="of a floating-point type"):
        stream(dtype=torch.int64)
    with pytest.raises(InvalidParameter, match="one or more"):
        TorchNoiseStream(PLAN, [], noise_multiplier=1.0, max_grad_norm=1.0)
    with pytest.raises(InvalidParameter, match="noise_multiplier"):
        stream(noise_multiplier=float("nan"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_noise_for_half_precision_is_single_precision(dtype):
    """With its memory: it is rounded once, after it was added to a sum."""
    half, single = stream(dtype=dtype), stream(dtype=torch.float32)
    assert half.memory.dtype == torch.float32
    for mine, theirs in zip(half, single, strict=True):
        assert all(part.dtype == torch.float32 for part in mine)
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def shares(count: int) -> list[list[tuple[int, int]]]:
    """A range of every tensor for each process, cut along the first axis as sharded models are."""
    ranges, begin = [[] for _ in range(count)], 0
    for shape in SHAPES:
        width, rows = int(np.prod(shape[1:])), shape[0]
        each = -(-rows // count)
        for rank in range(count):
            edges = (min(rank * each, rows), min((rank + 1) * each, rows))
            ranges[rank].append(tuple(begin + edge * width for edge in edges))
        begin += rows * width
    return ranges


def held(ranges, rng=3) -> TorchNoiseStream:
    """The stream of one process."""
    like = [torch.zeros(stop - start) for start, stop in ranges]
    return TorchNoiseStream(
        PLAN,
        like,
        noise_multiplier=2.0,
        max_grad_norm=0.25,
        rng=rng,
        coordinates=ranges,
        dimension=21,
    )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_processes_hold_parts(count):
    """Together they have the noise of one; with four some hold nothing of some tensors."""
    parts = [held(ranges) for ranges in shares(count)]
    for whole, *rows in zip(stream(), *parts, strict=True):
        for tensor, *pieces in zip(whole, *rows, strict=True):
            assert torch.equal(torch.cat(pieces), tensor.flatten())


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 1), (1, 3)])
def test_parts_are_shared_out_again(before, after):
    """Heads are the same everywhere; columns of the memory are put in order and cut elsewhere."""
    olds = [held(ranges) for ranges in shares(before)]
    for old in olds:
        next(old), next(old)
    assert len({old.head()["digest"] for old in olds}) == 1
    memory = torch.zeros(PLAN.strategy.bands - 1, 21)
    for old, ranges in zip(olds, shares(before), strict=True):
        memory[:, torch.cat([torch.arange(a, b) for a, b in ranges])] = old.memory
    whole = stream()
    next(whole), next(whole)
    for ranges in shares(after):
        columns = torch.cat([torch.arange(a, b) for a, b in ranges])
        new = held(ranges, rng=99)
        new.load_state_dict(olds[0].head(), memory=memory[:, columns])
        saved = whole.state_dict()
        expected = torch.cat([part.flatten() for part in next(whole)])[columns]
        whole.load_state_dict(saved)
        assert torch.equal(torch.cat(next(new)), expected)


def test_a_head_needs_its_memory():
    """Of the right shape and type; without it the correlation would be lost."""
    old = held(shares(2)[0])
    next(old)
    for memory in (None, old.memory[:, 1:], old.memory.double(), torch.zeros_like(old.memory)):
        with pytest.raises(InvalidParameter, match=r"^state"):
            held(shares(2)[0]).load_state_dict(old.head(), memory=memory)


@pytest.mark.parametrize(
    ("ranges", "dimension", "match"),
    [
        ([(0, 3)], None, "dimension"),
        ([(0, 4)], 9, "coordinates"),
        ([(7, 10)], 9, "coordinates"),
        ([(0, 3), (3, 6)], 9, "coordinates"),
        (None, 9, "dimension"),
    ],
)
def test_ranges_that_are_not_the_tensors(ranges, dimension, match):
    """A range for each tensor, of its size, inside the whole."""
    with pytest.raises(InvalidParameter, match=match):
        TorchNoiseStream(
            PLAN,
            [torch.zeros(3)],
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            coordinates=ranges,
            dimension=dimension,
        )
