"""Parts of a model and their tensors: the same as PyTorch's lists, but for repetitions."""

from __future__ import annotations

import torch
from torch import nn

from hockeystick.torch.model_state import parts_of, tensors_of


class Shared(nn.Module):
    """A layer that is there twice, an empty container, no bias, nothing, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.again = self.first
        self.inside = nn.Sequential(nn.Sequential(), nn.BatchNorm1d(2), nn.Linear(2, 2))
        self.nothing = None
        self.register_buffer("kept", torch.zeros(1))
        self.register_buffer("absent", None)
        self.register_parameter("scale", nn.Parameter(torch.ones(1)))


def identities(things: object) -> set[int]:
    """Which objects they are."""
    return {id(one) for one in things}  # type: ignore[attr-defined]


def test_the_same_as_pytorch() -> None:
    """Modules, parameters and buffers, however deep, also after the model has changed."""
    model = Shared()
    for _ in range(2):
        assert identities(parts_of(model)) == identities(model.modules())
        assert identities(tensors_of(model, "_parameters")) == identities(model.parameters())
        assert identities(tensors_of(model, "_buffers")) == identities(model.buffers())
        model.inside.append(nn.Linear(2, 1))
