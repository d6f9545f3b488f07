"""LoRA adapters and frozen backbones: gradients of single examples, shared parameters, files."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from opacus.grad_sample import GradSampleModule
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from torch.utils.data import TensorDataset
from transformers.pytorch_utils import Conv1D

import hockeystick as hs
from extras import texts
from hockeystick.errors import PlanMismatch
from hockeystick.torch.per_sample_module import PerSampleModule

SHAPES = 50


class Layers(nn.Module):
    """A frozen linear layer and a frozen Conv1D with adapters, and a trained head."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs, hidden), Conv1D(outputs, hidden)
        self.head = nn.Linear(outputs, 3)

    def forward(self, x):
        """Class scores, averaged over positions."""
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x))))).mean(1)


def adapted(generator: torch.Generator):
    """Random sizes, rank, scaling and initial values."""
    sizes = torch.randint(2, 12, (4,), generator=generator).tolist()
    rank = int(torch.randint(1, 6, (), generator=generator))
    dora = bool(torch.randint(2, (), generator=generator))
    config = LoraConfig(
        r=rank,
        lora_alpha=int(torch.randint(1, 20, (), generator=generator)),
        target_modules=["first", "second"],
        modules_to_save=["head"],
        init_lora_weights=False,
        use_rslora=dora,
    )
    with warnings.catch_warnings():
        # peft sets fan_in_fan_out for Conv1D by itself, and says so.
        warnings.simplefilter("ignore")
        model = get_peft_model(Layers(*sizes[:3]), config).train()
    return model, torch.randn(5, 1 + sizes[3] % 4, sizes[0], generator=generator)


def trained(model):
    """The parameters with gradients."""
    return [p for p in model.parameters() if p.requires_grad]


def run_of(model, dataset, **options):
    """Two steps over all examples."""
    return hs.torch.make_private(
        model,
        torch.optim.SGD(trained(model), lr=0.1),
        dataset,
        hs.Plan(sampling=hs.FullBatch(), steps=2),
        noise_multiplier=1.0,
        **{"max_grad_norm": 1.0, "rng": 1, **options},
    )


def rows_of(run, losses):
    """The gradients of examples as the run computes them."""
    return run._clipping.gradients(losses, run._gradients._parameters)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
def test_adapters_have_the_gradients_of_explicit_loops(clipping):
    """To 1e-5 of the gradient's length, parameter by parameter, for 50 random shapes."""
    generator = torch.Generator().manual_seed(3)
    for number in range(SHAPES):
        torch.manual_seed(number)
        model, points = adapted(generator)
        labels = torch.arange(5) % 3
        alone = copy.deepcopy(model)
        run = run_of(model, TensorDataset(points, labels), clipping=clipping)
        names = [name for name, p in model.named_parameters() if p.requires_grad]
        assert all("lora" in name or "head" in name for name in names)
        found = rows_of(
            run, nn.functional.cross_entropy(run.model(points), labels, reduction="none")
        )
        for i in range(5):
            loss = nn.functional.cross_entropy(alone(points[i : i + 1]), labels[i : i + 1])
            wanted = torch.autograd.grad(loss, trained(alone))
            size = torch.sqrt(sum(own.square().sum() for own in wanted))
            for name, rows, own in zip(names, found, wanted, strict=True):
                assert torch.linalg.vector_norm(rows[i] - own) <= 1e-5 * size, name
        run.close()


def corrupt_scale(rows):
    """Every gradient is a tenth longer."""
    return {p: 1.1 * own for p, own in rows.items()}


def corrupt_order(rows):
    """Gradients belong to the next example."""
    return {p: own.roll(1, dims=0) for p, own in rows.items()}


def corrupt_zero(rows):
    """No gradient."""
    return {p: torch.zeros_like(own) for p, own in rows.items()}


@pytest.mark.parametrize("corrupt", [corrupt_scale, corrupt_order, corrupt_zero])
def test_a_corrupted_hook_is_noticed_before_the_first_step(monkeypatch, corrupt):
    """Gradients of a few examples are compared with PyTorch's own, and no step is taken."""
    right = GradSampleModule.GRAD_SAMPLERS[nn.Linear]
    wrong = {
        **PerSampleModule.GRAD_SAMPLERS,
        nn.Linear: lambda layer, inputs, gradients: corrupt(right(layer, inputs, gradients)),
    }
    monkeypatch.setattr(PerSampleModule, "GRAD_SAMPLERS", wrong)
    model, points = adapted(torch.Generator().manual_seed(5))
    before = [p.detach().clone() for p in model.parameters()]
    run = run_of(model, TensorDataset(points, torch.arange(5) % 3))
    inputs, labels = next(iter(run.loader))
    with pytest.raises(PlanMismatch, match=r"lora_[AB]|head|gradient of one"):
        run.loss(nn.CrossEntropyLoss())(run.model(inputs), labels).backward()
    with pytest.raises(PlanMismatch):
        run.optimizer.step()
    assert run.taken_steps == 0
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def language_batch(count: int = 6):
    """Padded reviews."""
    data = texts.Reviews(count, language=True)
    return [data[i] for i in range(count)]


def test_tied_parameters():
    """The gradient of a tied matrix is that of both uses; ghost clipping refuses it by name."""
    from hockeystick.transformers import example_loss

    model = texts.gpt2(tied=True)
    batch = texts.padded(language_batch())
    labels = batch.pop("labels")
    loss_of, alone = example_loss(model), copy.deepcopy(model)
    run = run_of(
        model, texts.Reviews(6, language=True), loader_options={"collate_fn": texts.padded}
    )
    with run.model.of_examples(6):
        found = rows_of(run, loss_of(run.model(**batch).logits, labels))
    for i in range(6):
        one = {name: value[i : i + 1] for name, value in batch.items()}
        wanted = torch.autograd.grad(
            loss_of(alone(**one).logits, labels[i : i + 1]).sum(), trained(alone)
        )
        size = torch.sqrt(sum(own.square().sum() for own in wanted))
        for rows, own in zip(found, wanted, strict=True):
            assert torch.linalg.vector_norm(rows[i] - own) <= 1e-5 * size
    run.close()
    ghost = run_of(
        model,
        texts.Reviews(6, language=True),
        clipping="ghost",
        loader_options={"collate_fn": texts.padded},
    )
    loaded = dict(next(iter(ghost.loader)))
    labels = loaded.pop("labels")
    with pytest.raises(PlanMismatch, match=r"transformer\.wte\.weight and lm_head\.weight"):
        ghost.loss(loss_of)(ghost.model(**loaded).logits, labels).backward()


def test_what_is_frozen_stays_and_adapters_load_in_plain_peft(tmp_path):
    """Only adapters change; the saved folder gives the same logits in a fresh peft model."""
    from hockeystick.transformers import example_loss

    model = texts.with_lora(texts.gpt2())
    frozen = {n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad}
    moving = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
    run = run_of(
        model, texts.Reviews(8, language=True), loader_options={"collate_fn": texts.padded}
    )
    criterion = run.loss(example_loss(model))
    for batch in run.loader:
        inputs = dict(batch)
        labels = inputs.pop("labels")
        criterion(run.model(**inputs).logits, labels).backward()
        run.optimizer.step()
        run.optimizer.zero_grad()
    now = dict(model.named_parameters())
    assert all(torch.equal(now[name], value) for name, value in frozen.items())
    assert not any(torch.equal(now[name], value) for name, value in moving.items())
    model.save_pretrained(tmp_path)
    loaded = PeftModel.from_pretrained(texts.gpt2(), tmp_path)
    tokens = torch.arange(1, 9)[None]
    model.eval(), loaded.eval()
    with torch.no_grad():
        assert torch.allclose(model(tokens).logits, loaded(tokens).logits, atol=1e-6)
