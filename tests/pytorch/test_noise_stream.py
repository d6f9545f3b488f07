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
    """Coarse types, and none at all."""
    with pytest.raises(InvalidParameter, match="float32 or float64"):
        stream(dtype=torch.bfloat16)
    with pytest.raises(InvalidParameter, match="one or more"):
        TorchNoiseStream(PLAN, [], noise_multiplier=1.0, max_grad_norm=1.0)
    with pytest.raises(InvalidParameter, match="noise_multiplier"):
        stream(noise_multiplier=float("nan"))
