"""Losses of a run: one value for each example, or the criterion is refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from pytorch.probed_networks import CLASSES, EXAMPLES, contrastive, first_step
from pytorch.probed_networks import small_data as data
from pytorch.probed_networks import small_network as network

pytestmark = [
    pytest.mark.filterwarnings("ignore:reduction='sum'"),
]


def divided(outputs, labels):
    """A mean that is written out: the size of the batch is in every loss."""
    return functional.cross_entropy(outputs, labels, reduction="none") / len(labels)


def balanced(outputs, labels):
    """Weights from how often a label is in the batch."""
    counts = torch.bincount(labels, minlength=CLASSES).float()
    return functional.cross_entropy(outputs, labels, reduction="none") / counts[labels]


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("criterion", [contrastive, divided, balanced])
def test_losses_that_mix(runs, criterion, clipping):
    """One value for each example, each of which depends on all."""
    with pytest.raises(PlanMismatch, match="the loss of one changes by"):
        first_step(runs, network(), criterion, clipping=clipping)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_weighted_means(runs, clipping):
    """They divide by the weights of all examples: influence 118 before."""
    weights = torch.tensor([1.0, 1000.0, 1.0])
    for loss in (nn.CrossEntropyLoss, nn.NLLLoss):
        with pytest.raises(InvalidParameter, match="a weighted mean divides by"):
            first_step(runs, network(), loss(weight=weights), clipping=clipping)
    each = nn.CrossEntropyLoss(weight=weights, reduction="none")
    assert first_step(runs, network(), each, clipping=clipping).taken_steps == 1


class Words(nn.Module):
    """Class scores for each of five words of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.out = nn.Embedding(7, 4), nn.Linear(4, 7)

    def forward(self, words):
        """(text, class, word), as PyTorch's cross entropy takes it."""
        return self.out(self.embedding(words)).transpose(1, 2)


def texts(*, ignored: bool) -> TensorDataset:
    """Words and the words that follow; half of the texts end early."""
    source = torch.Generator().manual_seed(4)
    words = torch.randint(7, (EXAMPLES, 5), generator=source)
    targets = words.roll(1, 1).clone()
    if ignored:
        targets[::2, 2:] = -100
    return TensorDataset(words, targets)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_means_over_the_tokens_of_a_batch(runs, clipping):
    """With ignored tokens the divisor depends on all examples: influence 47 before."""
    with pytest.raises(InvalidParameter, match="where targets are ignored"):
        first_step(
            runs, Words(), nn.CrossEntropyLoss(), clipping=clipping, dataset=texts(ignored=True)
        )
    for ignored, reduction in ((True, "none"), (False, "mean"), (True, "sum")):
        torch.manual_seed(0)
        run = first_step(
            runs,
            Words(),
            nn.CrossEntropyLoss(reduction=reduction),
            clipping=clipping,
            dataset=texts(ignored=ignored),
        )
        assert run.taken_steps == 1


def test_token_losses_are_averaged_within_the_example(runs):
    """Over the tokens that count; flattened tokens are refused."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4)
    run = runs.private(plan, model=Words(), dataset=texts(ignored=True))
    words, targets = next(iter(run.loader))
    scores = run.model(words)
    loss = run.loss(nn.CrossEntropyLoss(reduction="none"))(scores, targets)
    each = functional.cross_entropy(scores.as_subclass(torch.Tensor), targets, reduction="none")
    wanted = (each.sum(1) / (targets != -100).sum(1)).mean().detach()
    assert loss.item() == pytest.approx(float(wanted), rel=1e-6)
    flat = scores.transpose(1, 2).reshape(-1, 7)
    for reduction in ("none", "mean"):
        criterion = run.loss(nn.CrossEntropyLoss(reduction=reduction))
        with pytest.raises(InvalidParameter, match="each of the 24 examples"):
            criterion(flat, targets.flatten())


@pytest.mark.parametrize("criterion", [functional.cross_entropy, lambda o, y: o.sum()])
def test_functions_that_reduce(runs, criterion):
    """One sentence says what to write."""
    with pytest.raises(InvalidParameter, match="reduction='none'"):
        first_step(runs, network(), criterion)


@pytest.mark.slow
@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_clean_models_and_what_lies_between(runs, clipping):
    """Dropout, padding, operations between model and criterion; nothing is refused."""
    clean = nn.Sequential(
        nn.Linear(6, 8), nn.GroupNorm(2, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 1)
    )
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = runs.private(plan, model=clean, dataset=data(), clipping=clipping)
    criterion = run.loss(nn.BCEWithLogitsLoss())
    for points, labels in run.loader:
        logits = run.model(points).squeeze(-1)
        loss = criterion(logits, (labels > 0).float())
        assert loss.item() > 0
        (0.5 * loss + loss / 4).backward()
        run.optimizer.step()
    assert run.taken_steps == 2
    report = run.probe()
    assert (report.examples, report.step) == (4, 3)
    assert report.largest_change < 1e-5
    assert run.statement(delta=1e-5).probe == report.describe()


def test_a_contrastive_loss_in_the_loop(runs):
    """What lies between the model's output and the criterion is repeated as well."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = runs.private(plan, model=network(), dataset=data())
    points, labels = next(iter(run.loader))
    z = functional.normalize(run.model(points))
    loss = run.loss(nn.CrossEntropyLoss())((z - z.mean(0)) * 3.0, labels)
    with pytest.raises(PlanMismatch, match="influence each other"):
        loss.backward()


def test_what_cannot_be_repeated(runs):
    """A change in place, and a size that is written down."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    for change, why in (
        (lambda o: (o + 1.0).mul_(2.0), "changes in place and hooks cannot"),
        (lambda o: o.reshape(EXAMPLES, CLASSES, 1).squeeze(-1), "for a part of the batch"),
    ):
        run = runs.private(plan, model=network(), dataset=data())
        points, labels = next(iter(run.loader))
        criterion = run.loss(nn.CrossEntropyLoss())
        with pytest.raises(PlanMismatch, match=why):
            criterion(change(run.model(points)), labels).backward()


def test_a_sum_is_said_to_keep_the_divisor(runs):
    """Learning rates are those of a mean: one warning, when the criterion is made."""
    run = runs.private(hs.Plan(sampling=hs.FullBatch(), steps=2), model=network(), dataset=data())
    with pytest.warns(UserWarning, match="divided by the expected batch size"):
        run.loss(nn.CrossEntropyLoss(reduction="sum"))
