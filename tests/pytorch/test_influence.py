"""What one more example changes: at most its clipped gradient, or the run is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("opacus", reason="needs the extra torch")
torch = pytest.importorskip("torch", reason="needs the extra torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

import hockeystick as hs  # noqa: E402
from hockeystick.errors import InvalidParameter, PlanMismatch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook")

EXAMPLES, CLASSES = 24, 3


def data() -> TensorDataset:
    """Points with labels, of which one class is rare."""
    source = torch.Generator().manual_seed(2)
    points = torch.randn(EXAMPLES, 6, generator=source)
    labels = torch.arange(EXAMPLES) % CLASSES
    return TensorDataset(points, labels)


def network(*extra: nn.Module) -> nn.Module:
    """Two layers with something between them."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), *extra, nn.Tanh(), nn.Linear(4, CLASSES))


def first_step(runs, model, criterion, *, clipping="per-sample", dataset=None):
    """One step with all examples; the run."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4)
    run = runs.private(plan, model=model, dataset=dataset or data(), clipping=clipping)
    criterion = run.loss(criterion)
    points, labels = next(iter(run.loader))
    criterion(run.model(points), labels).backward()
    run.optimizer.step()
    return run


class Centred(nn.Module):
    """Subtracts the mean of the batch."""

    def forward(self, x):
        """With the others."""
        return x - x.mean(0)


class Normed(nn.Module):
    """Batch normalisation as a function."""

    def forward(self, x):
        """With the others."""
        return functional.batch_norm(x, None, None, training=True)


class Remembers(nn.Module):
    """Keeps the mean of the batch in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        """The output is clean, the buffer is not."""
        with torch.no_grad():
            self.seen.mul_(0.9).add_(x.mean(0))
        return x


class Attribute(nn.Module):
    """Uses what an earlier batch left in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.before = 0.0

    def forward(self, x):
        """Not a buffer, and still a way from one batch to the next."""
        shifted = x + self.before
        self.before = float(x.detach().mean())
        return shifted


class BackwardMix(nn.Module):
    """The output is clean; the gradients are mixed by a hook."""

    def forward(self, x):
        """As it is."""
        if x.requires_grad:
            x.register_hook(lambda g: g + g.mean(0))
        return x * 1.0


class InEval(nn.Module):
    """Statistics without a gradient, and only where it is large."""

    def forward(self, x):
        """Divided by the largest number of the batch."""
        return x / x.detach().abs().max()


class Roll(nn.Module):
    """Each example sees its neighbour."""

    def forward(self, x):
        """With some of the next example."""
        return x + 0.5 * x.roll(1, 0)


class Counter(nn.Module):
    """A buffer that counts batches: it changes, and not with the data."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        """As it is."""
        self.batches += 1
        return x


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize(
    "layer",
    [
        nn.BatchNorm1d(4),
        nn.BatchNorm1d(4, affine=False),
        nn.BatchNorm1d(4).requires_grad_(requires_grad=False),
        nn.BatchNorm1d(4).eval(),
        nn.SyncBatchNorm(4),
        nn.InstanceNorm1d(4, track_running_stats=True),
    ],
    ids=["trained", "affine=False", "frozen", "eval", "sync", "tracking"],
)
def test_layers_that_mix_are_refused_by_name(runs, layer, clipping):
    """Whatever their parameters; influence 81 before."""
    with pytest.raises(InvalidParameter, match=rf"1: {type(layer).__name__}"):
        first_step(runs, network(layer), nn.CrossEntropyLoss(), clipping=clipping)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("layer", [Centred, Normed, BackwardMix, InEval, Roll, Attribute])
def test_mixing_modules_are_found_by_the_probe(runs, layer, clipping):
    """Functional calls, hooks, statistics without a gradient; influence 3 and more before."""
    with pytest.raises(PlanMismatch, match="Examples of a batch influence each other"):
        first_step(runs, network(layer()), nn.CrossEntropyLoss(), clipping=clipping)


def test_the_layer_is_named(runs):
    """Where examples first influence each other."""
    with pytest.raises(PlanMismatch, match=r"first seen in the layer 1 \(Centred\)"):
        first_step(runs, network(Centred()), nn.CrossEntropyLoss())
    with pytest.raises(PlanMismatch, match="first seen in the criterion"):
        first_step(runs, network(), contrastive)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_buffers_that_are_updated_from_data(runs, clipping):
    """They hold data without noise; one that only counts is fine."""
    with pytest.raises(PlanMismatch, match=r"buffer 1\.seen is updated from the examples"):
        first_step(runs, network(Remembers()), nn.CrossEntropyLoss(), clipping=clipping)
    run = first_step(runs, network(Counter()), nn.CrossEntropyLoss(), clipping=clipping)
    assert run.taken_steps == 1
    # The probe does not count.
    assert int(dict(run.model.named_buffers())["_module.1.batches"]) == 1


def test_a_buffer_that_changes_later(runs):
    """One that stood still during the probe."""
    model = network(Counter())
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4)
    model.register_buffer("late", torch.zeros(6))
    run = runs.private(plan, model=model, dataset=data())
    criterion = run.loss(nn.CrossEntropyLoss())
    batches = iter(run.loader)
    points, labels = next(batches)
    criterion(run.model(points), labels).backward()
    run.optimizer.step()
    model.late.add_(points.mean(0))
    points, labels = next(batches)
    loss = criterion(run.model(points), labels)
    with pytest.raises(PlanMismatch, match="The buffer late was changed"):
        loss.backward()
    assert run.taken_steps == 1


def contrastive(outputs, labels):
    """Each example against all others of the batch."""
    z = functional.normalize(outputs)
    return functional.cross_entropy(z @ z.T, torch.arange(len(z)), reduction="none")


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
