"""Positions that are looked up once for all examples, and refusals that name their layer."""

from __future__ import annotations

import pytest
import torch
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.probe_outcomes import _advice

pytestmark = pytest.mark.filterwarnings("ignore")

EXAMPLES, LENGTH, WORDS, WIDTH = 9, 5, 11, 6


class Positioned(nn.Module):
    """Embeddings as in BERT and GPT-2: positions have a batch dimension of 1, or none at all."""

    def __init__(self, use=lambda positions, words: positions + words, *, row=True) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(8, WIDTH)
        self.head = nn.Linear(WIDTH, 3)
        self.use, self.row = use, row

    def forward(self, tokens):
        """Scores of three classes."""
        numbers = torch.arange(tokens.shape[1])
        positions = self.positions(numbers[None] if self.row else numbers)
        return self.head(torch.tanh(self.use(positions, self.words(tokens))).mean(1))


class Expanded(Positioned):
    """The way out: a row of positions for each example."""

    def forward(self, tokens):
        """Scores of three classes."""
        positions = self.positions(torch.arange(tokens.shape[1]).expand(len(tokens), -1))
        return self.head(torch.tanh(positions + self.words(tokens)).mean(1))


def texts() -> TensorDataset:
    """Words with labels."""
    source = torch.Generator().manual_seed(1)
    tokens = torch.randint(WORDS, (EXAMPLES, LENGTH), generator=source)
    return TensorDataset(tokens, torch.arange(EXAMPLES) % 3)


def run_of(runs, model, **options):
    """A run on all texts."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    return runs.private(plan, model=model, dataset=texts(), **options)


def backward(run) -> None:
    """The backward pass of the next batch."""
    tokens, labels = next(iter(run.loader))
    run.loss(nn.CrossEntropyLoss())(run.model(tokens), labels).backward()


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("most", [None, 4, 1])
def test_positions_with_a_batch_dimension_of_one(runs, clipping, most):
    """The clipped sum is that of gradients which PyTorch computes example by example."""
    model = Positioned()
    each = []
    for tokens, label in texts():
        model.zero_grad()
        nn.functional.cross_entropy(model(tokens[None]), label[None]).backward()
        each.append(torch.cat([p.grad.flatten().double() for p in model.parameters()]))
    norms = [float(gradient.norm()) for gradient in each]
    clip = sorted(norms)[EXAMPLES // 2]
    wanted = sum(g * min(1.0, clip / (n + 1e-6)) for g, n in zip(each, norms, strict=True))
    run = run_of(
        runs,
        model,
        clipping=clipping,
        max_grad_norm=clip,
        noise_multiplier=1e-9,
        physical_batch_size=most,
    )
    before = runs.weights(run)
    criterion = run.loss(nn.CrossEntropyLoss())
    for tokens, labels in run.loader:
        criterion(run.model(tokens), labels).backward()
        run.optimizer.step()
        if run.taken_steps:
            break
    update = (before - runs.weights(run)).double() * EXAMPLES
    assert torch.allclose(update, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize(
    "use",
    [
        lambda positions, words: positions[0] + words,
        lambda positions, words: positions.mean(0) + words,
        lambda positions, words: positions.sum(0) + words,
        lambda positions, words: len(positions) * positions + words,
        lambda positions, words: positions.flip(0) + words,
        lambda positions, words: positions.roll(1, 0) + words,
    ],
)
def test_repeated_positions_that_others_use(runs, clipping, use):
    """A row of one example's positions that reaches another's loss is refused by the probe."""
    run = run_of(runs, Positioned(use), clipping=clipping)
    with pytest.raises(PlanMismatch, match=r"Opacus computes|influence|for a part|could not"):
        backward(run)
    with pytest.raises(PlanMismatch):
        run.optimizer.step()
    assert run.taken_steps == 0


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_a_layer_that_begins_later_is_not_repeated(runs, clipping):
    """Only what the probe has seen: in another step it is named and refused."""
    model = Positioned()
    model.late, model.later = nn.Embedding(8, WIDTH), False
    model.use = lambda p, w: p + w + (model.late(torch.zeros(1, 1).long()) if model.later else 0.0)
    run = run_of(runs, model, clipping=clipping)
    backward(run)
    run.optimizer.step()
    model.later = True
    with pytest.raises(PlanMismatch, match=r"gradients of late.* are of 1 examples"):
        backward(run)
    assert run.taken_steps == 1


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("shape", [(1, LENGTH), (LENGTH,)])
def test_a_lookup_for_all_that_begins_later(runs, clipping, shape):
    """Beside one with a row for each example: the first examples would get what is everyone's."""
    model = Expanded()
    run = run_of(runs, model, clipping=clipping)
    backward(run)
    run.optimizer.step()
    late = torch.zeros(shape).long()
    model.head.register_forward_pre_hook(lambda _, given: given[0] + model.words(late).mean(-2))
    with pytest.raises(PlanMismatch, match=rf"words was looked up for {EXAMPLES} .* for"):
        backward(run)
    assert run.taken_steps == 1


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_positions_without_a_batch_dimension(runs, clipping):
    """The parameter is named, with two ways out that work."""
    with pytest.raises(PlanMismatch, match=r"of positions.* of 5 examples.*expand.*requires_grad_"):
        backward(run_of(runs, Positioned(row=False), clipping=clipping))
    frozen, expanded = Positioned(row=False), Expanded(row=False)
    frozen.positions.requires_grad_(False)
    for model in (frozen, expanded):
        run = run_of(runs, model, clipping=clipping)
        backward(run)
        run.optimizer.step()
        assert run.taken_steps == 1


class Buffered(nn.Module):
    """A parameter and a buffer in one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))
        self.register_buffer("scale", torch.ones(6))

    def forward(self, x):
        """Their product with the input."""
        return x * self.weight * self.scale


@pytest.mark.parametrize(
    ("layer", "named", "way_out"),
    [
        (
            nn.BatchNorm1d(6),
            "1: BatchNorm1d",
            r"GroupNorm.*ModuleValidator\.fix.*hockeystick docs training",
        ),
        (nn.LSTM(6, 6), "1: LSTM", r"ModuleValidator\.fix"),
        (nn.GRU(6, 6), "1: GRU", r"ModuleValidator\.fix"),
        (nn.MultiheadAttention(6, 2), "1: MultiheadAttention", r"ModuleValidator\.fix"),
        (Buffered(), "1: Buffered", "an ordinary attribute"),
    ],
)
def test_layers_are_named(runs, layer, named, way_out):
    """One sentence that is not cut, with the layer and the way out."""
    model = nn.Sequential(nn.Linear(6, 6), layer)
    with pytest.raises(InvalidParameter, match=rf"{way_out}.*got '{named}'\.$"):
        runs.private(runs.banded(), model=model)


def test_the_way_out_for_batch_normalisation(runs):
    """What the message names works."""
    model = nn.Sequential(nn.Linear(40, 6), nn.BatchNorm1d(6))
    with pytest.raises(InvalidParameter):
        runs.private(runs.banded(), model=model)
    run = runs.private(runs.banded(), model=ModuleValidator.fix(model))
    assert runs.train(run, until=2)[0]


def test_groups_of_one_feature(runs):
    """What `ModuleValidator.fix` makes of a narrow BatchNorm1d is warned of, if it is after Linear.

    If the probe finds its rounding, it names the way out as well.
    """
    narrow = nn.Sequential(nn.Linear(40, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    with pytest.warns(UserWarning, match=r"layer 1: GroupNorm has 8 groups .*LayerNorm, or fewer"):
        runs.private(runs.banded(), model=ModuleValidator.fix(narrow))
    assert "LayerNorm, or fewer" in _advice(nn.GroupNorm(8, 8))
    assert _advice(nn.GroupNorm(4, 8)) == _advice(nn.Linear(8, 8)) == ""
    fewer = nn.Sequential(nn.Linear(40, 8), nn.GroupNorm(4, 8), nn.Linear(8, 2))
    runs.private(runs.banded(), model=fewer)


def test_evaluation_mode(runs):
    """What to call."""
    with pytest.raises(InvalidParameter, match=r"call model\.train\(\)"):
        runs.private(runs.banded(), model=runs.linear_model().eval())
