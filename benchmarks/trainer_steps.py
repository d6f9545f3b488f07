"""Time of a step of whole trainers: Hugging Face's, ours, and Opake's where it installs."""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

import hockeystick as hs
from hockeystick.transformers import PlanTrainer

STEPS, TURNS, RATE = 12, 3, 0.01


class Clock(TrainerCallback):
    """CPU time between the ends of two steps: loading, the step, logging."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Of each step."""
        self.times.append(time.process_time())

    @property
    def steps(self) -> list[float]:
        """Without the first two, which warm up."""
        return [b - a for a, b in zip(self.times, self.times[1:], strict=False)][2:]


class Dictionaries(torch.utils.data.Dataset[Any]):
    """Tokens with labels."""

    def __init__(self, tokens: torch.Tensor) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        own = self.tokens[index]
        return {"input_ids": own, "labels": own, "attention_mask": torch.ones_like(own)}


def steps_of_trainers(network: Callable[[], Any], tokens: torch.Tensor) -> dict[str, float | None]:
    """Medians over several trainings of each, in turns; every step has all examples."""
    makers = {"without privacy": plain, "hockeystick": ours, "Opake": opake}
    found: dict[str, list[float] | None] = {name: [] for name in makers}
    for _ in range(TURNS):
        for name, make in makers.items():
            clock = Clock()
            try:
                make(network(), Dictionaries(tokens), clock).train()
            except ImportError:
                found[name] = None
                continue
            some = found[name]
            assert some is not None
            some += clock.steps
    return {
        n: None if some is None else round(statistics.median(some), 6) for n, some in found.items()
    }


def arguments(size: int, **more: Any) -> TrainingArguments:
    """Nothing is written or evaluated."""
    return TrainingArguments(
        tempfile.mkdtemp(),
        per_device_train_batch_size=size,
        learning_rate=RATE,
        optim="sgd",
        lr_scheduler_type="constant",
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
        **more,
    )


def plain(model: Any, data: Dictionaries, clock: Clock) -> Trainer:
    """Hugging Face's own, without clipping."""
    return Trainer(
        model,
        arguments(len(data), max_steps=STEPS, max_grad_norm=0.0),
        train_dataset=data,
        callbacks=[clock],
    )


def ours(model: Any, data: Dictionaries, clock: Clock) -> PlanTrainer:
    """Full batches of a plan; the probe runs within the first steps, which are left out."""
    return PlanTrainer(
        model,
        arguments(len(data)),
        data,
        plan=hs.Plan(sampling=hs.FullBatch(), steps=STEPS),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        callbacks=[clock],
    )


def opake(model: Any, data: Dictionaries, clock: Clock) -> Any:
    """Opake's; its rate of 1 gives full batches too."""
    _leave_slots_out()
    from opake.transformers import DPTrainer
    from opake.transformers.trainer import TrainingArguments as Arguments

    settings = Arguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=len(data),
        max_steps=STEPS,
        privacy_noise_multiplier=1.0,
        privacy_target_delta=1e-5,
        clipping_norm=1.0,
        optim="sgd",
        learning_rate=RATE,
        sampling_mode="poisson",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    return DPTrainer(model, settings, data_collator=_stacked, train_dataset=data, callbacks=[clock])


def _stacked(examples: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    return {name: torch.stack([one[name] for one in examples]) for name in examples[0]}


def _leave_slots_out() -> None:
    """Opake 0.16.1 declares a second slot for weak references, which Python 3.11.7 refuses."""
    add: Any = dataclasses._add_slots  # type: ignore[attr-defined]

    def tolerant(cls: type, frozen: bool, weakref_slot: bool) -> type:
        try:
            return add(cls, frozen, weakref_slot)
        except TypeError:
            return add(cls, frozen, False)

    dataclasses._add_slots = tolerant  # type: ignore[attr-defined]
