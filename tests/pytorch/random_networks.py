"""Random small networks and losses for the probe: clean ones, and ones that mix examples."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from opacus.layers import DPLSTM, DPMultiheadAttention
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

FEATURES, CLASSES = 12, 3


def data(examples: int, *, seed: int) -> TensorDataset:
    """Points with labels."""
    source = torch.Generator().manual_seed(seed)
    points = torch.randn(examples, FEATURES, generator=source)
    return TensorDataset(points, torch.randint(CLASSES, (examples,), generator=source))


class Function(nn.Module):
    """A layer made of a function."""

    def __init__(self, name: str, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.name, self.function = name, function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the function says."""
        return self.function(x)

    def extra_repr(self) -> str:
        """The function's name."""
        return self.name


class Attention(nn.Module):
    """Attention between the parts of one example, or by mistake between examples."""

    def __init__(self, *, across: bool) -> None:
        super().__init__()
        self.attention = DPMultiheadAttention(4, 2, batch_first=True)
        self.across = across

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Three parts with four numbers each."""
        parts = x.reshape(len(x), 3, 4)
        if self.across:
            weights = (parts.flatten(1) @ parts.flatten(1).T).softmax(dim=1)
            parts = (weights @ parts.flatten(1)).reshape_as(parts)
        out, _ = self.attention(parts, parts, parts, need_weights=False)
        return out.reshape(len(x), FEATURES)


class Recurrent(nn.Module):
    """A recurrent layer over the parts of an example."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = DPLSTM(4, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Three parts with four numbers each."""
        return self.cell(x.reshape(len(x), 3, 4))[0].reshape(len(x), FEATURES)


class Residual(nn.Module):
    """A linear layer with a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(FEATURES, FEATURES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Both."""
        return x + torch.tanh(self.layer(x))


class Remembering(nn.Module):
    """Keeps a running mean of the data, as a buffer or as an attribute that is used later."""

    def __init__(self, *, buffer: bool) -> None:
        super().__init__()
        self.buffer = buffer
        start = torch.zeros(FEATURES)
        if buffer:
            self.register_buffer("mean", start)
        else:
            self.mean = start

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shifted by what was seen before, unless it is only kept."""
        before = self.mean.clone()
        self.mean = 0.5 * self.mean + 0.5 * x.detach().mean(0)
        return x if self.buffer else x - before


def backward_hook(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], Any]:
    """A function that is the identity and changes gradients."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 1.0
        if y.requires_grad:
            y.register_hook(change)
        return y

    return function


def clean_layer(source: random.Random) -> nn.Module:
    """A layer in which examples stay apart."""
    return source.choice(
        [
            lambda: nn.Linear(FEATURES, FEATURES),
            lambda: nn.Sequential(
                nn.Unflatten(1, (3, 4)), nn.Conv1d(3, 3, 3, padding=1), nn.Flatten()
            ),
            lambda: nn.GroupNorm(3, FEATURES),
            lambda: nn.LayerNorm(FEATURES),
            lambda: nn.Sequential(
                nn.Unflatten(1, (3, 4)), nn.InstanceNorm1d(3, affine=True), nn.Flatten()
            ),
            lambda: nn.Dropout(0.4),
            lambda: Function("functional dropout", lambda x: functional.dropout(x, 0.3)),
            lambda: Function("noise", lambda x: x + 0.1 * torch.randn_like(x)),
            lambda: Function("noise by size", lambda x: x + torch.rand(len(x), 1)),
            lambda: Function("stochastic depth", lambda x: x * float(torch.rand(()) < 0.9)),
            lambda: Function("within", lambda x: x - x.mean(1, keepdim=True)),
            lambda: Function("sorted within", lambda x: x.sort(dim=1).values),
            nn.GELU,
            Recurrent,
            Residual,
            lambda: Attention(across=False),
        ]
    )()


def mixing_layer(source: random.Random) -> nn.Module:
    """A layer in which an example sees others."""
    return source.choice(
        [
            lambda: Function("centred", lambda x: x - x.mean(0)),
            lambda: Function(
                "as a call", lambda x: functional.batch_norm(x, None, None, training=True)
            ),
            lambda: Function("detached", lambda x: x / (1e-3 + x.detach().std(0))),
            lambda: Function("largest", lambda x: x / x.abs().max()),
            lambda: Function("neighbour", lambda x: x + 0.3 * x.roll(1, 0)),
            lambda: Function("mixup", lambda x: 0.8 * x + 0.2 * x.flip(0)),
            lambda: Function("softmax", lambda x: x.softmax(dim=0) * 5),
            lambda: Function("so far", lambda x: x.cumsum(0) * 0.2),
            lambda: Function("sorted", lambda x: x + x.sort(dim=0).values),
            lambda: Function("first", lambda x: x + x[:1]),
            lambda: Function("size", lambda x: x * len(x) / 8),
            lambda: Function("mixed gradients", backward_hook(lambda g: g - g.mean(0))),
            lambda: Function("scaled gradients", backward_hook(lambda g: g / g.norm())),
            lambda: Attention(across=True),
            lambda: Remembering(buffer=True),
            lambda: Remembering(buffer=False),
        ]
    )()


def clean_loss(source: random.Random) -> Any:
    """One value for each example."""
    return source.choice(
        [
            nn.CrossEntropyLoss(),
            nn.CrossEntropyLoss(reduction="sum"),
            nn.CrossEntropyLoss(reduction="none", weight=torch.tensor([1.0, 30.0, 2.0])),
            nn.CrossEntropyLoss(label_smoothing=0.1),
            lambda o, y: functional.multi_margin_loss(o, y, reduction="none"),
            lambda o, y: (o - functional.one_hot(y, CLASSES)).square().sum(dim=1),
        ]
    )


def mixing_loss(source: random.Random) -> Any:
    """One value for each example, which depends on others."""

    def each(o: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(o, y, reduction="none")

    def contrast(o: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(o @ o.T, torch.arange(len(o)), reduction="none")

    def mined(o: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        losses = each(o, y)
        return losses * (losses.detach() >= losses.detach().mean())

    return source.choice(
        [
            contrast,
            mined,
            lambda o, y: each(o, y) / len(y),
            lambda o, y: each(o, y) / each(o, y).detach().sum(),
            lambda o, y: each(o, y) + o.mean(),
            lambda o, y: each(o, y) / (y == y[:, None]).sum(dim=1),
            lambda o, y: each(o - o.logsumexp(0, keepdim=True), y),
        ]
    )


def network(seed: int, *, mixing: bool) -> tuple[nn.Module, Any]:
    """A network and a loss; if `mixing`, one of its layers or its loss mixes examples."""
    source = random.Random(seed)
    torch.manual_seed(seed)
    layers = [clean_layer(source) for _ in range(source.randint(1, 3))]
    loss = clean_loss(source)
    if mixing and source.random() < 0.3:
        loss = mixing_loss(source)
    elif mixing:
        layers.insert(source.randint(0, len(layers)), mixing_layer(source))
    first = nn.Linear(FEATURES, FEATURES)
    return nn.Sequential(first, *layers, nn.Linear(FEATURES, CLASSES)), loss
