"""The probe where it is hard: state, randomness, padding, and code that is clean but unusual."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytest.importorskip("opacus", reason="needs the extra torch")
torch = pytest.importorskip("torch", reason="needs the extra torch")

from opacus.layers import DPMultiheadAttention  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

import hockeystick as hs  # noqa: E402
from hockeystick.errors import InvalidParameter, PlanMismatch  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Full backward hook"),
    pytest.mark.parametrize("clipping", ["per-sample", "ghost"]),
]

EXAMPLES = 24
FULL = hs.Plan(sampling=hs.FullBatch(), steps=20)


def data() -> TensorDataset:
    """Points with labels."""
    source = torch.Generator().manual_seed(2)
    points = torch.randn(EXAMPLES, 8, generator=source)
    return TensorDataset(points, torch.arange(EXAMPLES) % 3)


def network(*layers: nn.Module) -> nn.Module:
    """With some layers in the middle."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), *layers, nn.Tanh(), nn.Linear(8, 3))


def stepped(runs, model, clipping, *, steps=1, criterion=None, loop=None, **options):
    """A run after some steps."""
    options = {"dataset": data(), **options}
    run = runs.private(FULL, model=model, clipping=clipping, **options)
    criterion = run.loss(criterion or nn.CrossEntropyLoss())
    for points, labels in run.loader:
        run.optimizer.zero_grad()
        output = run.model(points)
        criterion(output if loop is None else loop(output), labels).backward()
        run.optimizer.step()
        if run.taken_steps == steps:
            break
    return run


class Function(nn.Module):
    """A layer made of a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        """What the function says."""
        return self.function(x)


class FirstBatch(nn.Module):
    """Sets something from the first batch that it sees."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where, self.done = where, False
        if where == "parameter":
            self.scale = nn.Parameter(torch.ones(8))
        elif where == "buffer":
            self.register_buffer("scale", torch.ones(8))
        else:
            self.scale = torch.ones(8)

    def forward(self, x):
        """Scaled by what was found then."""
        if not self.done:
            with torch.no_grad():
                self.scale.copy_(1 / x.std(0))
            self.done = True
        return x * self.scale


@pytest.mark.parametrize("where", ["parameter", "buffer", "attribute"])
def test_what_is_set_from_the_first_batch(runs, clipping, where):
    """The model's state before the batch is where the probe starts: influence 4 before."""
    with pytest.raises(PlanMismatch, match=r"influence each other|changed by something|updated"):
        stepped(runs, network(FirstBatch(where)), clipping)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x + 0.5 * x.roll(1, 0) if torch.rand(()) < 0.6 else x, "influence"),
        (lambda x: x - x.mean(0) if len(x) > 10 else x, "influence"),
        (lambda x: x - functional.dropout(x, 0.1).mean(0), "influence"),
    ],
    ids=["sometimes", "large batches", "random"],
)
def test_mixing_beside_dropout(runs, clipping, function, why):
    """Random numbers are the same for an example in all passes, and not the same in all rounds."""
    with pytest.raises(PlanMismatch, match=why):
        stepped(runs, network(nn.Dropout(0.3), Function(function)), clipping)


def test_mixing_that_begins_later(runs, clipping):
    """The probe runs again, and a run that it refuses has no statement."""
    taken = [0]

    def later(outputs, labels):
        losses = functional.cross_entropy(outputs, labels, reduction="none")
        return losses if taken[0] < 3 else losses - losses.mean()

    run = runs.private(FULL, model=network(), dataset=data(), clipping=clipping)
    criterion = run.loss(later)
    batches = iter(run.loader)
    for _ in range(7):
        points, labels = next(batches)
        criterion(run.model(points), labels).backward()
        run.optimizer.step()
        taken[0] = run.taken_steps
    points, labels = next(batches)
    loss = criterion(run.model(points), labels)
    with pytest.raises(PlanMismatch, match="influence each other"):
        loss.backward()
    with pytest.raises(PlanMismatch, match="The probe has ended this run"):
        run.optimizer.step()
    with pytest.raises(PlanMismatch, match="The probe has ended this run"):
        run.statement(delta=1e-5)


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


def test_what_the_loop_does_is_stated(runs, clipping):
    """The probe cannot repeat it."""
    run = runs.private(FULL, model=network(), dataset=data(), clipping=clipping)
    points, labels = next(iter(run.loader))
    run.loss(nn.CrossEntropyLoss())(run.model(points * 2.0), labels).backward()
    run.optimizer.step()
    stated = run.statement(delta=1e-5)
    assert stated.probe["inputs_as_loaded"] is False
    assert "what the loop did to batches before the model saw them was not" in stated.paragraph()


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
