"""A run of PlanTrainer as a program: python trainings.py OUTPUT MODEL [resume | stop].

Started by torchrun it is one run over all processes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainingArguments

sys.path.insert(0, str(Path(__file__).parents[1]))

import hockeystick as hs
from extras import texts
from hockeystick.transformers import PlanTrainer

STEPS, DELTA = 8, 1e-5
MODELS = {
    "gpt2": (texts.gpt2, True),
    "gpt2-lora": (lambda: texts.with_lora(texts.gpt2()), True),
    "bert": (texts.bert, False),
    "bert-lora": (lambda: texts.with_lora(texts.bert()), False),
}


class Interruption(TrainerCallback):
    """Ends the process after some steps, as a crash would."""

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After the first checkpoint."""
        raise KeyboardInterrupt


def trainer(output: Path, name: str, **options: Any) -> PlanTrainer:
    """A run of eight steps with correlated noise."""
    model, language = MODELS[name][0](), MODELS[name][1]
    arguments = {
        "learning_rate": 0.01,
        "per_device_train_batch_size": 6,
        "save_steps": 4,
        "save_strategy": "steps",
        "logging_steps": 4,
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        **options.pop("arguments", {}),
    }
    plan = hs.Plan(
        sampling=hs.CyclicPoisson(rate=0.5, groups=2),
        steps=STEPS,
        strategy=hs.strategies.bsr(STEPS, bands=2),
    )
    settled = {
        "plan": plan,
        "noise_multiplier": 1.0,
        "max_grad_norm": 0.5,
        "delta": DELTA,
        "data_collator": texts.padded,
        "private": {"rng": 7},
        **options,
    }
    return PlanTrainer(
        model,
        TrainingArguments(output_dir=str(output), **arguments),
        texts.Reviews(language=language),
        **settled,
    )


def main(output: str, name: str, how: str = "") -> None:
    """Train; "stop" ends after the first checkpoint, "resume" continues from it."""
    callbacks = [Interruption()] if how == "stop" else []
    made = trainer(Path(output), name, callbacks=callbacks)
    try:
        made.train(resume_from_checkpoint=how == "resume")
    except KeyboardInterrupt:
        return
    if made.is_world_process_zero():
        torch.save(made.model.state_dict(), Path(output) / "weights.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
    # Together and at once: threads of the backend abort in a process that ends by itself while its
    # peer is still there.
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    sys.stdout.flush()
    os._exit(0)
