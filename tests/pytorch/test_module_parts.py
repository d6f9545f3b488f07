"""Parts of a model and their tensors: the same as PyTorch's lists, but for repetitions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hockeystick.torch.model_state import parts_of, tensors_of
from hockeystick.torch.per_sample_module import PerSampleModule


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


class TwiceThrough(torch.nn.Module):
    """A layer that is called on its own output: gradients of two calls are added."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.again = torch.nn.Linear(4, 5), torch.nn.Linear(5, 5)

    def forward(self, x):
        """The second layer twice."""
        return self.again(self.again(torch.tanh(self.first(x))))


@pytest.mark.parametrize("model", [TwiceThrough(), torch.nn.Linear(4, 5)])
def test_rows_share_no_memory(model):
    """What is kept of one call is changed by nothing, and changes no gradient on its way."""
    private, x = PerSampleModule(model), torch.randn(6, 4, requires_grad=True)
    ahead = torch.randn(6, 5)
    output = private(x)
    output.backward(ahead)
    kept = ahead.clone()
    for parameter in model.parameters():
        rows = parameter.grad_sample
        assert torch.allclose(rows.sum(dim=0), parameter.grad, atol=1e-5)
        rows += 1.0
    assert torch.equal(ahead, kept)
    private.disable_hooks()
    for number, parameter in enumerate(model.parameters()):
        for row in range(6):
            loss = (model(x[row : row + 1]) * ahead[row]).sum()
            wanted = torch.autograd.grad(loss, list(model.parameters()))[number]
            assert torch.allclose(parameter.grad_sample[row] - 1.0, wanted, atol=1e-5)
    private.detach()
