"""The probe where influence is hard to find: state, randomness, precision, large batches."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from hockeystick.errors import PlanMismatch
from pytorch.probed_networks import EXAMPLES, FULL, Function, data, network, stepped

pytestmark = [
    pytest.mark.parametrize("clipping", ["per-sample", "ghost"]),
]


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


class RunningMean(nn.Module):
    """Keeps a mean of the examples that it saw, and subtracts it."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(40, 50)
        self.register_buffer("mean", torch.zeros(40))

    def forward(self, inputs):
        """The buffer carries one example to the next."""
        self.mean.mul_(0.9).add_(0.1 * inputs.detach().mean(dim=0))
        return self.linear(inputs - self.mean)


def test_buffers_with_one_example_in_every_pass(runs, clipping):
    """No probe runs there: no buffer may change, also after a state was restored."""

    def made():
        options = {"clipping": clipping, "physical_batch_size": 1}
        return runs.private(runs.independent(), model=RunningMean(), **options)

    run, other = made(), made()
    with pytest.raises(PlanMismatch, match="The buffer mean was changed during the run"):
        runs.train(run)
    other.load_state_dict(other.state_dict())
    with pytest.raises(PlanMismatch, match="The buffer mean was changed during the run"):
        runs.train(other)
