"""The probe where it is hard: state, randomness, padding, and code that is clean but unusual."""

from __future__ import annotations

import random
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
        self.where, self._done = where, False
        if where == "parameter":
            self.scale = nn.Parameter(torch.ones(8))
        elif where == "buffer":
            self.register_buffer("scale", torch.ones(8))
        else:
            self.scale = torch.ones(8)

    def forward(self, x):
        """Scaled by what was found then."""
        if not self._done:
            with torch.no_grad():
                self.scale.copy_(1 / x.std(0))
            self._done = True
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


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("how", ["setitem", "view", "data"])
def test_changes_in_place_between_model_and_criterion(runs, clipping, dropout, how):
    """Influence 11.7 before, beside dropout."""

    def centred(outputs):
        found = outputs * 1.0
        if how == "setitem":
            found[:] = found - found.mean(0).detach()
        elif how == "view":
            found[:, :2].sub_(found.mean(0).detach()[:2])
        else:
            found.data.sub_(found.detach().mean(0))
        return found

    with pytest.raises(PlanMismatch, match=r"can be repeated|cannot be repeated|influence"):
        stepped(runs, network(nn.Dropout(dropout)), clipping, loop=centred)


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


def test_autocast(runs, clipping):
    """With the criterion outside of it, whose own mean is then in half precision."""
    run = runs.private(FULL, model=network(nn.Dropout(0.1)), dataset=data(), clipping=clipping)
    points, labels = next(iter(run.loader))
    with torch.autocast("cpu", torch.bfloat16):
        outputs = run.model(points)
    run.loss(nn.CrossEntropyLoss())(outputs, labels).backward()
    run.optimizer.step()
    assert run.record().probe["largest_change"] < 1e-5


def test_small_differences_of_large_numbers(runs, clipping):
    """Rounding of predictions around 1,000 is decided in double precision."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    with torch.no_grad():
        model[-1].bias.fill_(1000.0)
        points = data().tensors[0]
        targets = model(points).squeeze(-1) + 0.001 * torch.randn(EXAMPLES)
    run = runs.private(FULL, model=model, dataset=TensorDataset(points, targets), clipping=clipping)
    points, targets = next(iter(run.loader))
    run.loss(nn.MSELoss())(run.model(points).squeeze(-1), targets).backward()
    run.optimizer.step()
    assert all(p.dtype == torch.float32 for p in model.parameters())
    assert run.record().probe["largest_change"] < 1e-4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - 0.01 * x.mean(0) if len(x) > 10 else x,
        lambda x: x - 0.01 * (x.mean(0) - x.mean(0).detach()) if len(x) > 10 else x,
    ],
    ids=["forward", "backward"],
)
def test_weak_mixing_in_large_batches(runs, clipping, function):
    """Double precision does not excuse it: the whole batch is compared there too."""
    with pytest.raises(PlanMismatch, match="influence each other"):
        stepped(runs, network(Function(function)), clipping)


def test_buffers_while_precision_is_changed(runs, clipping):
    """A float buffer is of the model's type again where rounding is decided, and after it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1), Shifted())
    points = data().tensors[0]
    with torch.no_grad():
        targets = model(points).squeeze(-1) + 0.001 * torch.randn(EXAMPLES)
    run = runs.private(FULL, model=model, dataset=TensorDataset(points, targets), clipping=clipping)
    points, targets = next(iter(run.loader))
    run.loss(nn.MSELoss())(run.model(points).squeeze(-1), targets).backward()
    run.optimizer.step()
    assert {t.dtype for t in (*model.parameters(), *model.buffers())} == {torch.float32}


class Shifted(nn.Module):
    """Adds a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.tensor(1000.0))

    def forward(self, x):
        """Far away from zero."""
        return x + self.shift


def test_an_example_that_is_not_finite(runs, clipping):
    """It contributes nothing, and is no influence."""
    points, labels = data().tensors
    broken = points.clone()
    broken[0] = float("nan")
    run = stepped(runs, network(), clipping, dataset=TensorDataset(broken, labels))
    assert run.taken_steps == 1


def test_randomness_of_python(runs, clipping):
    """A layer that is sometimes left out."""
    layer = Function(lambda x: x if random.random() < 0.5 else 2.0 * x)
    for _ in range(4):
        assert stepped(runs, network(layer), clipping).taken_steps == 1


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
