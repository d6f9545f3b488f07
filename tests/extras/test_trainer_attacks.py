"""What would let one example change others, or be told later: noticed or refused by PlanTrainer."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, TrainerCallback

import hockeystick as hs
from extras import texts, trainings
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.transformers import PlanTrainer

S = trainings.STEPS


def rolled(examples):
    """The words of each example are those of its neighbour."""
    batch = texts.padded(examples)
    return {**batch, "input_ids": batch["input_ids"].roll(1, dims=0)}


def unmasked(examples):
    """Padding to the longest of the batch is read as words."""
    batch = texts.padded(examples)
    return {**batch, "attention_mask": torch.ones_like(batch["attention_mask"])}


def with_dropout():
    """A classifier with dropout everywhere, also within attention."""
    torch.manual_seed(0)
    config = BertConfig(**{**texts.bert().config.to_dict(), "hidden_dropout_prob": 0.1})
    config.attention_probs_dropout_prob = 0.1
    return BertForSequenceClassification(config).train()


@pytest.mark.parametrize("collate", [rolled, unmasked])
@pytest.mark.parametrize("model", [texts.bert, with_dropout])
def test_collators_that_mix_examples_are_noticed(tmp_path, monkeypatch, model, collate):
    """Before the first step, with fused attention and dropout too."""
    monkeypatch.setitem(trainings.MODELS, "bert", (model, False))
    made = trainings.trainer(tmp_path, "bert", data_collator=collate)
    with pytest.raises(PlanMismatch, match="influence each other"):
        made.train()
    assert made.run.taken_steps == 0


def test_random_masks_of_a_collator_are_no_influence(tmp_path, monkeypatch):
    """Each example draws its own: not refused."""
    monkeypatch.setitem(trainings.MODELS, "bert", (with_dropout, False))

    def hidden(examples):
        batch = texts.padded(examples)
        seen = torch.bernoulli(torch.full(batch["input_ids"].shape, 0.8)).long()
        return {**batch, "input_ids": batch["input_ids"] * seen}

    made = trainings.trainer(
        tmp_path, "bert", data_collator=hidden, arguments={"save_strategy": "no"}
    )
    made.train()
    assert made.run.taken_steps == S


class Weighted(PlanTrainer):
    """A loss over the batch, as in many tutorials."""

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        """Never called."""
        raise AssertionError


class Loaded(PlanTrainer):
    """Batches of one's own."""

    def get_train_dataloader(self):
        """Never called."""
        raise AssertionError


@pytest.mark.parametrize(
    ("kind", "name"), [(Weighted, "compute_loss"), (Loaded, "get_train_dataloader")]
)
def test_methods_that_the_loop_does_not_call_are_refused(tmp_path, monkeypatch, kind, name):
    """A subclass would believe that its loss is trained."""
    monkeypatch.setattr(trainings, "PlanTrainer", kind)
    with pytest.raises(InvalidParameter, match=name):
        trainings.trainer(tmp_path, "bert")


@pytest.mark.parametrize(
    "loss",
    [
        torch.nn.functional.cross_entropy,
        lambda logits, labels: torch.nn.functional.cross_entropy(
            logits - logits.mean(0), labels, reduction="none"
        ),
    ],
    ids=["mean", "centred"],
)
def test_losses_over_the_batch_are_refused(tmp_path, loss):
    """One value, or values that depend on all examples."""
    with pytest.raises((InvalidParameter, PlanMismatch), match="each"):
        trainings.trainer(tmp_path, "bert", loss=loss).train()


def plan_with(**changes):
    """The plan of the trainings with something else in it."""
    settled = {
        "sampling": hs.CyclicPoisson(rate=0.5, groups=2),
        "steps": S,
        "strategy": hs.strategies.bsr(S, bands=2),
    }
    return hs.Plan(**{**settled, **changes})


OTHERS = [
    {"plan": plan_with(strategy=hs.strategies.identity(S))},
    {"plan": plan_with(sampling=hs.Poisson(rate=0.25))},
    {"noise_multiplier": 2.0},
    {"max_grad_norm": 1.0},
    {"private": {"rng": 7, "clipping": "automatic"}},
]


def test_a_run_is_resumed_as_it_was(tmp_path):
    """Another plan, noise, clip norm or rule is refused; then the right one continues."""
    stopped = trainings.trainer(tmp_path, "bert", callbacks=[trainings.Interruption()])
    with pytest.raises(KeyboardInterrupt):
        stopped.train()
    for other in OTHERS:
        with pytest.raises(PlanMismatch, match="saved run had another"):
            trainings.trainer(tmp_path, "bert", **other).train(resume_from_checkpoint=True)
    made = trainings.trainer(tmp_path, "bert")
    made.train(resume_from_checkpoint=True)
    assert made.statement().taken_steps == S
    assert list(tmp_path.glob("checkpoint-*/rng_state*")) == []
    # The states are gone, and with them the way to go on.
    with pytest.raises(InvalidParameter, match="private_run"):
        trainings.trainer(tmp_path, "bert").train(resume_from_checkpoint=True)


def generators():
    """What the global generators would draw next."""
    return torch.rand(2).tolist(), np.random.random(), random.random()  # noqa: NPY002


class Drawn(TrainerCallback):
    """Draws after the first step."""

    def __init__(self) -> None:
        self.found = []

    def on_step_end(self, args, state, control, **_):
        """And ends the run."""
        self.found.append(generators())
        control.should_training_stop = True


@pytest.mark.parametrize("rng", [None, 7])
def test_dropout_has_secret_seeds_in_secret_runs(tmp_path, rng):
    """`seed` of the arguments is known, and would tell what every example draws."""
    drawn = Drawn()
    for _ in range(2):
        made = trainings.trainer(
            tmp_path,
            "bert",
            private={"rng": rng},
            callbacks=[drawn],
            arguments={"save_strategy": "no", "seed": 5},
        )
        made.train()
        assert made.statement().taken_steps == 1
    first, second = drawn.found
    # Not one of the three may repeat in a secret run; in a seeded one all do.
    assert [a == b for a, b in zip(first, second, strict=True)] == [rng is not None] * 3


class Moved(TrainerCallback):
    """Changes weights behind the run's back."""

    def on_step_end(self, args, state, control, model=None, **_):
        """By a constant."""
        with torch.no_grad():
            next(model.parameters()).add_(0.1)


def test_callbacks_do_not_change_weights(tmp_path):
    """Updates that the run does not make end it."""
    with pytest.raises(PlanMismatch, match="was changed"):
        trainings.trainer(tmp_path, "bert", callbacks=[Moved()]).train()


def test_the_best_model_is_stated(tmp_path):
    """Evaluation before the first step and a checkpoint chosen by it: post-processing."""
    made = trainings.trainer(
        tmp_path,
        "bert",
        eval_dataset=texts.Reviews(12, language=False),
        arguments={
            "eval_on_start": True,
            "eval_strategy": "steps",
            "eval_steps": 4,
            "load_best_model_at_end": True,
            "metric_for_best_model": "eval_loss",
        },
    )
    made.train()
    stated = hs.training.Statement.load(Path(tmp_path) / "privacy_statement.json")
    assert stated.parameters == made.statement().parameters
    assert Path(made.state.best_model_checkpoint).is_dir()
    assert made.state.log_history[0]["step"] == 0
