"""The probe on code that is clean but unusual: padding, texts, objects, operations of the loop."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from opacus.layers import DPMultiheadAttention
from torch import nn
from torch.nn import functional

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from pytorch.probed_networks import EXAMPLES, FULL, Function, data, network, stepped

pytestmark = [
    pytest.mark.parametrize("clipping", ["per-sample", "ghost"]),
]


class Texts(torch.utils.data.Dataset):
    """Texts of different lengths."""

    def __len__(self) -> int:
        return EXAMPLES

    def __getitem__(self, i):
        """Words from 1, and a label."""
        return torch.arange(i % 7 + 2) % 5 + 1, i % 3


def padded(examples):
    """To the longest of the batch, with zeros."""
    words = nn.utils.rnn.pad_sequence([w for w, _ in examples], batch_first=True)
    return words, torch.tensor([label for _, label in examples])


class Pooled(nn.Module):
    """The mean of the embeddings of a text, with or without the padding."""

    def __init__(self, *, masked: bool, padding: int | None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 8, padding_idx=padding)
        self.out, self.masked = nn.Linear(8, 3), masked

    def forward(self, words):
        """Class scores."""
        mask = (words > 0).unsqueeze(-1).float()
        vectors = self.embedding(words)
        if self.masked:
            return self.out((vectors * mask).sum(1) / mask.sum(1))
        return self.out(vectors.mean(1))


@pytest.mark.parametrize("padding", [None, 0])
def test_padding_to_the_longest_of_the_batch(runs, clipping, padding):
    """It is an influence unless the model masks it: 8.3 before. Padding has no gradient."""
    options = {"dataset": Texts(), "loader_options": {"collate_fn": padded}}
    with pytest.raises(PlanMismatch, match="influence each other"):
        stepped(runs, Pooled(masked=False, padding=padding), clipping, **options)
    run = stepped(runs, Pooled(masked=True, padding=padding), clipping, **options)
    assert run.record().probe["inputs_as_loaded"]


class Masked(nn.Module):
    """Attention over words with dropout, in which padding is masked."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.mix = nn.Embedding(6, 8), nn.Linear(8, 8)
        self.drop, self.out = nn.Dropout(0.2), nn.Linear(8, 3)

    def forward(self, words):
        """Class scores."""
        mask = words > 0
        vectors = self.drop(self.embedding(words))
        scores = vectors @ self.mix(vectors).mT
        weights = self.drop(scores.masked_fill(~mask[:, None], -1e9).softmax(-1))
        pooled = (weights @ vectors * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.out(pooled)


def test_dropout_beside_padding(runs, clipping):
    """Random tensors have another shape when fewer examples are there; nothing is refused."""
    options = {"dataset": Texts(), "loader_options": {"collate_fn": padded}}
    assert stepped(runs, Masked(), clipping, **options).record().probe["inputs_as_loaded"]


class Fused(nn.Module):
    """Attention by PyTorch's fused kernel, in which padding is masked or not."""

    def __init__(self, *, masked: bool, dropout: float) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(6, 8), nn.Linear(8, 3)
        self.masked, self.dropout = masked, dropout

    def forward(self, words):
        """Class scores."""
        vectors = self.embedding(words)[:, None]
        mask = (words > 0)[:, None, None] if self.masked else None
        mixed = nn.functional.scaled_dot_product_attention(
            vectors, vectors, vectors, attn_mask=mask, dropout_p=self.dropout
        )
        return self.out(mixed[:, 0, 0])


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_fused_attention_beside_padding(runs, clipping, dropout):
    """The kernel counts as random even where nothing is dropped, and hid what padding does."""
    options = {"dataset": Texts(), "loader_options": {"collate_fn": padded}}
    run = stepped(runs, Fused(masked=True, dropout=dropout), clipping, **options)
    assert run.record().probe["inputs_as_loaded"]
    with pytest.raises(PlanMismatch, match="influence each other"):
        stepped(runs, Fused(masked=False, dropout=dropout), clipping, **options)


class Named(torch.utils.data.Dataset):
    """Examples with a name, which nobody uses."""

    def __len__(self) -> int:
        return EXAMPLES

    def __getitem__(self, i):
        """A dictionary."""
        points, labels = data().tensors
        return {"name": f"example {i}", "x": points[i], "size": 3.0, "y": labels[i]}


def test_data_sets_with_texts(runs, clipping):
    """In a dictionary with numbers and tensors."""
    run = runs.private(FULL, model=network(), dataset=Named(), clipping=clipping)
    batch = next(iter(run.loader))
    run.loss(nn.CrossEntropyLoss())(run.model(batch["x"]), batch["y"]).backward()
    run.optimizer.step()
    assert run.record().probe["inputs_as_loaded"]


@dataclass
class Answer:
    """Outputs as an object."""

    logits: torch.Tensor
    hidden: torch.Tensor | None = None


class Objects(nn.Module):
    """Returns an object of its own class, or a mapping that PyTorch does not know."""

    def __init__(self, kind) -> None:
        super().__init__()
        self.layer, self.kind = nn.Linear(8, 3), kind

    def forward(self, x):
        """In an object."""
        return self.kind(logits=self.layer(x))


class Scores(dict):
    """A mapping with a class of its own."""


@pytest.mark.parametrize(
    ("kind", "loop"),
    [
        (Answer, lambda o: o.logits),
        (Scores, lambda o: o["logits"]),
        (dict, lambda o: o["logits"] * 2.0),
    ],
)
def test_outputs_of_every_kind(runs, clipping, kind, loop):
    """The tensors in them are followed."""
    run = stepped(runs, Objects(kind), clipping, loop=loop)
    assert run.taken_steps == 1


class Heads(nn.Module):
    """Attention with dropout, in which heads are folded into the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = DPMultiheadAttention(4, 2, dropout=0.2, batch_first=True)

    def forward(self, x):
        """Two positions."""
        parts = x.reshape(len(x), 2, 4)
        return self.attention(parts, parts, parts, need_weights=False)[0].reshape(len(x), 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "layers",
    [
        lambda: [Heads()],
        lambda: [Function(lambda x: functional.dropout(x.reshape(-1, 2), 0.3).reshape(len(x), 8))],
        lambda: [Function(lambda x: x * (1 + 0.1 * torch.randn(8)))],
        lambda: [Function(lambda x: x @ (torch.eye(8) + 0.1 * torch.randn(8, 8)))],
        lambda: [Function(lambda x: functional.dropout(x.unsqueeze(1), 0.5).squeeze(1))],
    ],
    ids=["heads", "folded", "shared noise", "noise on weights", "unsqueezed"],
)
def test_clean_randomness(runs, clipping, layers):
    """Whichever way random numbers are laid out."""
    assert stepped(runs, network(*layers()), clipping).taken_steps == 1


@pytest.mark.parametrize(
    "loop",
    [
        lambda o: o.float().contiguous().to("cpu"),
        lambda o: o + 0.0 * o.detach().float().sum().item(),
        lambda o: torch.stack([o[:, 0], o[:, 1], o[:, 2]], dim=1),
        lambda o: o.log_softmax(-1).max(dim=-1, keepdim=True).values + o,
    ],
)
def test_clean_operations_of_the_loop(runs, clipping, loop):
    """Those that return the tensor itself do not change it."""
    assert stepped(runs, network(), clipping, loop=loop).taken_steps == 1


class Doubled(torch.autograd.Function):
    """Its backward pass mixes gradients."""

    @staticmethod
    def forward(context, x):
        """Twice."""
        return x * 2.0

    @staticmethod
    def backward(context, gradient):
        """With the others."""
        return 2.0 * gradient + gradient.mean(0)


@pytest.mark.parametrize(
    "loop", [Doubled.apply, lambda o: (o.register_hook(lambda g: g + g.mean(0)), o)[1]]
)
def test_backward_passes_that_cannot_be_repeated(runs, clipping, loop):
    """Custom functions and hooks between the model and the criterion."""
    with pytest.raises(PlanMismatch, match=r"that can be repeated|influence each other"):
        stepped(runs, network(nn.Dropout(0.1)), clipping, loop=loop)


def test_some_parameters_are_trained(runs, clipping):
    """Others have gradients that nobody uses."""
    model = network()
    run = hs.torch.make_private(
        model,
        torch.optim.SGD(model[-1].parameters(), lr=1.0),
        data(),
        FULL,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        clipping=clipping,
    )
    before = model[0].weight.detach().clone()
    for _ in range(3):
        points, labels = next(iter(run.loader))
        run.loss(nn.CrossEntropyLoss())(run.model(points), labels).backward()
        run.optimizer.step()
    assert run.taken_steps == 3
    assert torch.equal(model[0].weight, before)


def test_losses_like_numbers(runs, clipping):
    """Sums of lists, differences and formats; one sentence for the rest."""
    run = runs.private(FULL, model=network(), dataset=data(), clipping=clipping)
    points, labels = next(iter(run.loader))
    loss = run.loss(nn.CrossEntropyLoss())(run.model(points), labels)
    assert f"{sum([loss, 2 * loss]) - loss:.4f}" == f"{2 * loss.item():.4f}"
    assert float(-loss) == -loss.item()
    with pytest.raises(AttributeError, match="a loss of a private run has no mean"):
        loss.mean()
    with pytest.raises(InvalidParameter, match="without options"):
        loss.backward(retain_graph=True)


def test_evaluation_mode(runs, clipping):
    """Left on by mistake."""
    run = runs.private(FULL, model=network(), dataset=data(), clipping=clipping)
    run.model.eval()
    points, labels = next(iter(run.loader))
    loss = run.loss(nn.CrossEntropyLoss())(run.model(points), labels)
    with pytest.raises(PlanMismatch, match=r"model\.train\(\)"):
        loss.backward()


def test_models_and_optimizers_that_are_refused(runs, clipping):
    """By name, before anything runs."""
    for layer in (nn.Embedding(4, 8, max_norm=1.0), nn.Embedding(4, 8, scale_grad_by_freq=True)):
        with pytest.raises(InvalidParameter, match="max_norm and scale_grad_by_freq"):
            runs.private(FULL, model=network(layer), dataset=data(), clipping=clipping)
    lazy = nn.Sequential(nn.LazyLinear(3))
    with pytest.raises(InvalidParameter, match="initialised"):
        runs.private(FULL, model=lazy, dataset=data(), clipping=clipping)
    model = network()
    with pytest.raises(InvalidParameter, match="one update for each gradient"):
        hs.torch.make_private(
            model,
            torch.optim.LBFGS(model.parameters()),
            data(),
            FULL,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            clipping=clipping,
        )
