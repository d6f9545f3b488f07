"""PlanTrainer: the steps of a plan in Hugging Face's loop, its files, its refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import TrainingArguments

import hockeystick as hs
from extras import texts, trainings
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.transformers import PlanTrainer, example_loss

PROGRAM = Path(trainings.__file__)
# Of a statement: what is drawn anew in each run, or follows from the last bits of the weights.
OWN = ("run_id", "parameters", "probe")


def started(*arguments: str, processes: int) -> None:
    """The program, by torchrun."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", str(PROGRAM), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def facts(folder: Path) -> dict:
    """The statement in the folder without what two runs never share."""
    stated = json.loads((folder / "privacy_statement.json").read_text())
    return {name: value for name, value in stated.items() if name not in OWN}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Every model trained in one process; the trainers."""
    found = {}
    for name in trainings.MODELS:
        made = trainings.trainer(
            tmp_path_factory.mktemp(name),
            name,
            eval_dataset=texts.Reviews(12, language=trainings.MODELS[name][1]),
            arguments={"eval_strategy": "steps", "eval_steps": 4},
        )
        made.train()
        found[name] = made
    return found


@pytest.mark.parametrize("name", trainings.MODELS)
def test_a_run_ends_with_its_statement(finished, name):
    """All steps are taken, evaluated and logged; the statement holds; no noise is left in files."""
    made = finished[name]
    folder = Path(made.args.output_dir)
    stated = hs.training.Statement.load(folder / "privacy_statement.json")
    assert hs.training.check_statement(stated).holds
    assert (stated.taken_steps, stated.planned_steps) == (trainings.STEPS, trainings.STEPS)
    assert stated.probe is not None
    assert made.state.global_step == trainings.STEPS
    logged = {key for line in made.state.log_history for key in line}
    assert {"eval_loss", "learning_rate", "epsilon"} <= logged
    assert "loss" not in logged
    assert (folder / "checkpoint-8").is_dir()
    assert list(folder.glob("checkpoint-*/private_run")) == []
    if name.endswith("lora"):
        assert (folder / "checkpoint-8/adapter_model.safetensors").is_file()


def test_weights_are_those_of_make_private(finished):
    """The same plan and seed in a loop of one's own give the same parameters."""
    model = texts.bert()
    data = texts.Reviews(language=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
    made = finished["bert"]
    run = hs.torch.make_private(
        model,
        optimizer,
        data,
        made.run.plan,
        noise_multiplier=1.0,
        max_grad_norm=0.5,
        rng=7,
        loader_options={"collate_fn": texts.padded},
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(run.optimizer, lambda step: 1 - step / 8)
    run.optimizer.register_step_post_hook(lambda *_: schedule.step())
    criterion = run.loss(example_loss(model))
    for batch in run.loader:
        labels = batch.pop("labels")
        criterion(run.model(**batch).logits, labels).backward()
        run.optimizer.step()
        run.optimizer.zero_grad()
    theirs = made.model.state_dict()
    for name, value in model.state_dict().items():
        assert torch.allclose(value, theirs[name], atol=1e-5), name


@pytest.mark.parametrize("name", ["gpt2-lora", "bert"])
def test_two_processes_interrupted_and_resumed_are_one_run(finished, tmp_path, name):
    """The statement is that of one process without interruption, and the weights to 1e-5."""
    started(str(tmp_path), name, "stop", processes=2)
    assert (tmp_path / "checkpoint-4/private_run").is_dir()
    assert not (tmp_path / "privacy_statement.json").exists()
    started(str(tmp_path), name, "resume", processes=2)
    whole = finished[name]
    assert facts(tmp_path) == facts(Path(whole.args.output_dir))
    wanted = whole.model.state_dict()
    for key, value in torch.load(tmp_path / "weights.pt").items():
        assert torch.allclose(value, wanted[key], rtol=0, atol=1e-5), key


def test_bfloat16(tmp_path):
    """The model is computed in bfloat16; parameters and the statement are as always."""
    made = trainings.trainer(
        tmp_path,
        "bert-lora",
        arguments={"bf16": True, "save_strategy": "no", "eval_strategy": "epoch"},
        eval_dataset=texts.Reviews(12, language=False),
        log_losses=True,
    )
    made.train()
    assert {p.dtype for p in made.model.parameters()} == {torch.float32}
    assert made.statement().taken_steps == trainings.STEPS
    assert any("loss" in line for line in made.state.log_history)
    with pytest.raises(PlanMismatch, match="composes"):
        made.train()
    with pytest.raises(PlanMismatch, match="trial"):
        made.hyperparameter_search()


def test_losses_are_per_example():
    """Tokens are averaged within each: longer neighbours and padding change nothing."""
    model = texts.gpt2().eval()
    data = texts.Reviews(6, language=True)
    loss_of = example_loss(model)
    together = texts.padded([data[i] for i in range(6)])
    labels = together.pop("labels")
    with torch.no_grad():
        found = loss_of(model(**together).logits, labels)
        for i in range(6):
            one = texts.padded([data[i]])
            own = model(**one).loss
            assert float(found[i]) == pytest.approx(float(own), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gradient_accumulation_steps", 2),
        ("max_grad_norm", 0.3),
        ("label_smoothing_factor", 0.1),
        ("fp16", True),
        ("dataloader_drop_last", True),
        ("train_sampling_strategy", "group_by_length"),
        ("auto_find_batch_size", True),
        ("neftune_noise_alpha", 5.0),
        ("activation_checkpointing", True),
        ("lr_scheduler_type", "reduce_lr_on_plateau"),
        ("max_steps", 3),
        ("save_only_model", True),
    ],
)
def test_arguments_that_change_the_mechanism_are_refused(tmp_path, name, value):
    """With one sentence that names the argument."""
    extra = {"eval_strategy": "epoch"} if name == "lr_scheduler_type" else {}
    with pytest.raises(InvalidParameter, match=name) as refusal:
        trainings.trainer(tmp_path, "bert", arguments={name: value, **extra})
    assert str(refusal.value).count(". ") == 0


def test_the_guarantee_alone_is_enough(tmp_path, capsys):
    """Epsilon, delta and a batch size choose plan and noise; the statement does not exceed them."""
    made = PlanTrainer(
        texts.bert(),
        TrainingArguments(
            str(tmp_path), num_train_epochs=2, use_cpu=True, report_to=[], disable_tqdm=True
        ),
        texts.Reviews(language=False),
        epsilon=8.0,
        delta=1e-5,
        batch_size=12,
        max_grad_norm=1.0,
        data_collator=texts.padded,
    )
    made.train()
    assert made.statement().epsilon <= 8.0
    assert made.run.plan.steps == 8
