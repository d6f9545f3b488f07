"""Ghost clipping is per-sample clipping with less memory."""

from __future__ import annotations

import pytest
import torch
from opacus.layers import DPLSTM
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import PlanMismatch
from hypothesis_strategies import thinned


class Texts(nn.Module):
    """Embedding, recurrent layer, linear layers at every position, normalisation."""

    def __init__(self, *, padding: int | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 6, padding_idx=padding)
        self.cell = DPLSTM(6, 6, batch_first=True)
        self.wide, self.norm, self.out = nn.Linear(6, 20), nn.LayerNorm(20), nn.Linear(20, 3)

    def forward(self, words):
        """Class scores."""
        found = torch.tanh(self.wide(self.cell(self.embedding(words))[0]))
        return self.out(self.norm(found)).mean(1)


class Pictures(nn.Module):
    """Convolutions, group normalisation, and a linear layer on four dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4)
        self.channels, self.out = nn.Linear(4, 5, bias=False), nn.Linear(5 * 16, 3)

    def forward(self, x):
        """Class scores."""
        found = torch.relu(self.norm(self.convolution(x.reshape(len(x), 1, 6, 6))))
        return self.out(self.channels(found.permute(0, 2, 3, 1)).flatten(1))


def sums(runs, model, dataset, *, clipping: str, clip: float = 0.3) -> torch.Tensor:
    """The clipped sum of all examples."""
    run = runs.private(
        hs.Plan(sampling=hs.FullBatch(), steps=2),
        model=model,
        dataset=dataset,
        clipping=clipping,
        max_grad_norm=clip,
    )
    points, labels = next(iter(run.loader))
    run.loss(nn.CrossEntropyLoss())(run.model(points), labels).backward()
    return torch.cat(run._gradients.take(run._progress.current()[0]))


def texts(examples: int = 15) -> TensorDataset:
    """Words from 0 to 8."""
    source = torch.Generator().manual_seed(5)
    words = torch.randint(9, (examples, 7), generator=source)
    return TensorDataset(words, words.sum(1) % 3)


def pictures(examples: int = 15) -> TensorDataset:
    """Six by six points."""
    points = torch.randn(examples, 36, generator=torch.Generator().manual_seed(6))
    return TensorDataset(points, torch.arange(examples) % 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "dataset"),
    [
        (Texts, texts()),
        (lambda: Texts(padding=0), texts()),
        (Pictures, pictures()),
        (lambda: nn.Linear(36, 3), pictures()),
    ],
    ids=["texts", "padding", "pictures", "linear"],
)
@pytest.mark.parametrize("clip", thinned([1e-3, 100.0, 0.3], normal=2))
def test_the_sum_is_that_of_per_sample_clipping(runs, model, dataset, clip):
    """For every layer, whether all examples are clipped or none is."""
    found = []
    for clipping in ("per-sample", "ghost"):
        torch.manual_seed(1)
        found.append(sums(runs, model(), dataset, clipping=clipping, clip=clip))
    error = torch.linalg.vector_norm(found[0] - found[1])
    assert float(error) <= 1e-6 * float(torch.linalg.vector_norm(found[0]))


class Series(nn.Module):
    """A linear layer at many positions whose gradients cancel over the positions."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.out = nn.Linear(3, 8), nn.Linear(8, 3)

    def forward(self, x):
        """The mean over the positions is taken away."""
        found = self.layer(x)
        return self.out((found - found.mean(1, keepdim=True)).square().mean(1))


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("offset", [1e3, 1e5, 1e6])
def test_positions_that_cancel(runs, clipping, offset):
    """One series far away from zero: influence 212 before, because its norm was rounded to 0."""
    source = torch.Generator().manual_seed(7)
    points = torch.randn(12, 20, 3, generator=source)
    points[-1] += offset
    labels = torch.arange(12) % 3
    torch.manual_seed(2)
    state = Series().state_dict()
    found = []
    for count in (12, 11):
        model = Series()
        model.load_state_dict(state)
        dataset = TensorDataset(points[:count], labels[:count])
        found.append(sums(runs, model, dataset, clipping=clipping, clip=1e-3))
    assert float(torch.linalg.vector_norm(found[0] - found[1])) <= 1e-3 * (1 + 1e-9)


class Mean(nn.Module):
    """The mean over the positions of a linear layer, with more positions than parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x):
        """Class scores."""
        return self.layer(x).mean(1)


@pytest.mark.parametrize("size", [1e10, 1e18, 1e25])
def test_inputs_that_cancel_exactly(runs, size):
    """Rounding of their sum over the batch is covered by the norm: influence 51 before."""
    points = torch.randn(10, 8, 2, generator=torch.Generator().manual_seed(8))
    points[-1] = size * torch.tensor([1.0, -1.0]).repeat(4)[:, None]
    labels = torch.arange(10) % 3
    state = Mean().state_dict()
    found = []
    for count in (10, 9):
        model = Mean()
        model.load_state_dict(state)
        dataset = TensorDataset(points[:count], labels[:count])
        found.append(sums(runs, model, dataset, clipping="ghost", clip=1.0))
    assert float(torch.linalg.vector_norm(found[0] - found[1])) <= 1.0 + 1e-9


class Packed(nn.Module):
    """A recurrent layer on texts of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = DPLSTM(2, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x, lengths):
        """The last state."""
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        return self.out(self.cell(packed)[1][0][0])


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_packed_sequences(runs, clipping):
    """In the order of their lengths; in another the gradients would be mixed up."""
    lengths, labels = torch.arange(12, 0, -1), torch.arange(12) % 3
    points = torch.randn(12, 12, 2, generator=torch.Generator().manual_seed(9))
    for order in (torch.arange(12), torch.arange(11, -1, -1)):
        run = runs.private(
            hs.Plan(sampling=hs.FullBatch(), steps=2),
            model=Packed(),
            dataset=TensorDataset(points[order], lengths[order], labels),
            clipping=clipping,
        )
        batch, sizes, wanted = next(iter(run.loader))
        if order[0] == 0:
            run.loss(nn.CrossEntropyLoss())(run.model(batch, sizes), wanted).backward()
            run.optimizer.step()
            assert run.taken_steps == 1
        else:
            with pytest.raises(PlanMismatch, match="order of their lengths"):
                run.model(batch, sizes)


class Hooked(nn.Module):
    """The backward pass scales gradients to length one: it is not linear."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(36, 8), nn.Linear(8, 3)

    def forward(self, x):
        """Clean for each example."""
        found = self.first(x) * 1.0
        if found.requires_grad:
            found.register_hook(lambda g: g / (1e-9 + g.norm(dim=1, keepdim=True)))
        return self.second(torch.tanh(found))


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_backward_passes_that_are_not_linear(runs, clipping):
    """Gradients were scaled again after clipping: influence 73 before."""
    points, labels = pictures().tensors
    torch.manual_seed(3)
    state = Hooked().state_dict()
    found = []
    for count in (15, 14):
        model = Hooked()
        model.load_state_dict(state)
        dataset = TensorDataset(points[:count], labels[:count])
        found.append(sums(runs, model, dataset, clipping=clipping, clip=1e-2))
    assert float(torch.linalg.vector_norm(found[0] - found[1])) <= 1e-2 * (1 + 1e-9)


def test_gradients_that_are_not_finite_contribute_nothing(runs):
    """As in per-sample clipping."""
    points, labels = pictures().tensors
    broken = points.clone()
    broken[4] = float("inf")
    rest = torch.arange(15) != 4
    torch.manual_seed(4)
    state = Pictures().state_dict()
    found = []
    for dataset in (TensorDataset(broken, labels), TensorDataset(points[rest], labels[rest])):
        model = Pictures()
        model.load_state_dict(state)
        found.append(sums(runs, model, dataset, clipping="ghost"))
    assert torch.allclose(found[0], found[1], rtol=1e-6, atol=1e-9)


def test_shared_parameters_are_refused(runs):
    """By a sentence that says what to use."""

    class Tied(nn.Module):
        """The same weights twice."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(36, 36), nn.Linear(36, 36)
            self.second.weight, self.out = self.first.weight, nn.Linear(36, 3)

        def forward(self, x):
            """One after the other."""
            return self.out(self.second(torch.tanh(self.first(x))))

    with pytest.raises(PlanMismatch, match="share a parameter"):
        sums(runs, Tied(), pictures(), clipping="ghost")
