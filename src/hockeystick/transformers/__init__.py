"""Hugging Face models trained by a plan (extra `transformers`: transformers, peft, accelerate)."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import Any

from hockeystick.errors import InvalidParameter, MissingExtra, PlanMismatch

try:
    import accelerate  # noqa: F401 - only whether it is there
    import transformers  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "Training of Hugging Face models needs transformers and accelerate", extra="transformers"
    ) from error

import torch
from transformers import Trainer

from hockeystick.plan import Plan
from hockeystick.torch import TorchRun, make_private
from hockeystick.torch.run_group import in_group
from hockeystick.training.statements import Statement
from hockeystick.transformers.checks import (
    STATE,
    ExampleLoss,
    check_arguments,
    check_replaced,
    example_loss,
    loader_options,
    remove_secrets,
    secret_generators,
)

__all__ = ["ExampleLoss", "PlanTrainer", "example_loss"]

SCHEDULE, STATEMENT = "scheduler.pt", "privacy_statement.json"


class PlanTrainer(Trainer):
    """A `transformers.Trainer` that trains privately: the plan draws batches and noise.

    The loop is that of `hs.torch.make_private`, with the same refusals; what else a trainer does is
    the parent's. Losses are per example, with tokens averaged within each (`example_loss`).
    `per_device_train_batch_size` is the most examples in memory at once (`physical_batch_size`);
    arguments of another mechanism are refused. Under torchrun all processes make one run. With
    `bf16=True` the model is computed in bfloat16, and sums and noise as always.

    Training losses, which have no noise, are not logged. `train` ends with the statement in
    `output_dir`, if a delta is known, and removes the noise from checkpoints. The statement does
    not cover metrics of an evaluation set.

    Parameters
    ----------
    model, args, train_dataset
        As for `Trainer`; the data set needs a length and indices.
    plan, noise_multiplier, max_grad_norm
        As for `make_private`. Or without plan and noise:
    epsilon, delta, batch_size
        The guarantee to choose them for, with `num_train_epochs`, and the expected batch size.
        `delta` alone is that of the statement.
    loss
        From logits and labels to a value for each example; by default that of the model's head.
    log_losses
        Whether training losses are logged, as secret as the data.
    private
        Further options of `make_private`: `clipping`, `filter`, `rng`, `arithmetic`, ....
    options
        Those of `Trainer`: `eval_dataset`, `data_collator`, `compute_metrics`, `callbacks`, ....

    Attributes
    ----------
    run
        The private run, from `train` on.
    """

    control: Any
    optimizer: Any

    def __init__(
        self,
        model: Any,
        args: Any,
        train_dataset: Any,
        *,
        plan: Plan | None = None,
        noise_multiplier: float | None = None,
        max_grad_norm: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        batch_size: float | None = None,
        loss: ExampleLoss | None = None,
        log_losses: bool = False,
        private: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        check_replaced(type(self), options)
        check_arguments(args, steps=None if plan is None else plan.steps)
        self.run: TorchRun | None = None
        self._delta, self._log_losses = delta, log_losses
        given = {"plan": plan, "noise_multiplier": noise_multiplier, "max_grad_norm": max_grad_norm}
        self._given: dict[str, Any] = {**given, **(private or {})}
        if plan is None:
            wanted = {"epsilon": epsilon, "delta": delta, "batch_size": batch_size}
            self._given |= {**wanted, "epochs": math.ceil(args.num_train_epochs)}
        elif epsilon is not None or batch_size is not None:
            raise InvalidParameter("plan", "left out where epsilon and batch_size are given", plan)
        super().__init__(model=model, args=args, train_dataset=train_dataset, **options)
        self._example_loss = example_loss(self.model) if loss is None else loss

    # -- the loop ---------------------------------------------------------------------------------

    def _inner_training_loop(
        self,
        batch_size: int | None = None,
        args: Any = None,
        resume_from_checkpoint: str | None = None,
        trial: Any = None,
        ignore_keys_for_eval: Any = None,
    ) -> Any:
        """The parent's loop with the steps of a private run."""
        if self.run is not None:
            raise PlanMismatch(
                "The trainer has made its run; a second one on the same data composes with it: "
                "make another trainer, and a joint statement of both."
            )
        run = self._begin(resume_from_checkpoint, trial)
        started = time.time()
        self._initial_num_input_tokens_seen = 0
        self._initial_global_step = self._globalstep_last_logged = self.state.global_step
        self._tr_loss = torch.tensor(0.0, device=self.args.device)
        self._total_loss_scalar, handler = 0.0, self.callback_handler
        self.control = handler.on_train_begin(self.args, self.state, self.control)
        if self.args.eval_on_start:
            self._evaluate(trial, ignore_keys_for_eval, skip_scheduler=True)
            self._to_training_mode()
        criterion = run.loss(self._example_loss)
        for epoch in run.epochs():
            self.control = handler.on_epoch_begin(self.args, self.state, self.control)
            for batch in epoch:
                self._part(run, criterion, batch)
                if run.taken_steps > self.state.global_step:
                    self._step_taken(run, trial, ignore_keys_for_eval, started)
                if self.control.should_epoch_stop or self.control.should_training_stop:
                    break
            self.control = handler.on_epoch_end(self.args, self.state, self.control)
            self._log_save_evaluate(trial, ignore_keys_for_eval, started)
            if self.control.should_training_stop:
                break
        run.close()
        seen = self.state.max_steps * run.expected_batch_size
        found = self._finalize_training(trial, seen, started)
        self._finish(run)
        return found

    def _begin(self, checkpoint: str | None, trial: Any) -> TorchRun:
        """Model, optimizer, data and schedule as a private run, new or from a checkpoint."""
        self.accelerator.free_memory()
        # Evaluation would otherwise wrap the model's forward method in autocast for good.
        self.accelerator._models.append(self.model)
        self.model.train()
        self.create_optimizer()
        run = make_private(
            self.model,
            self.optimizer,
            self.train_dataset,
            physical_batch_size=self._given.pop("physical_batch_size", self._train_batch_size),
            loader_options=loader_options(
                self.args,
                self._get_collator_with_removed_columns(self.data_collator, "training"),
                pin=self.args.device.type == "cuda",
            ),
            verbose=self.is_world_process_zero(),
            **self._given,
        )
        self.run, self.optimizer = run, run.optimizer
        if not run.record().seeded:
            secret_generators()
        steps = run.plan.steps
        check_arguments(self.args, steps=steps)
        self.create_scheduler(num_training_steps=steps, optimizer=run.optimizer)
        # Learning rates follow the steps of the plan, whoever is in the batches.
        run.optimizer.register_step_post_hook(lambda *_: self.lr_scheduler.step())
        in_epoch = max(round(len(self.train_dataset) / run.expected_batch_size), 1)
        epochs = max(math.ceil(steps / in_epoch), 1)
        self._init_training_state(steps, in_epoch, epochs, checkpoint, trial)
        if checkpoint is not None:
            self._load_optimizer_and_scheduler(checkpoint)
            self._load_rng_state(checkpoint)
        if self.state.global_step != run.taken_steps:
            raise PlanMismatch(
                f"The checkpoint is of step {self.state.global_step}, and its run of step "
                f"{run.taken_steps}."
            )
        return run

    def _part(self, run: TorchRun, criterion: Any, batch: Any) -> None:
        """Forward and backward pass of a physical batch, and the step if it was the last."""
        inputs = dict(self._prepare_inputs(batch))
        if "labels" not in inputs:
            raise InvalidParameter("train_dataset", "with labels for each example", sorted(inputs))
        labels = inputs.pop("labels")
        with self.compute_loss_context_manager():
            logits = run.model(**inputs).logits
        loss = criterion(logits, labels)
        loss.backward()
        if self._log_losses:
            ranks = max(self.args.world_size, 1)
            self._tr_loss += loss.detach() * (len(labels) * ranks / run.expected_batch_size)
        run.optimizer.step()
        run.optimizer.zero_grad()

    def _step_taken(self, run: TorchRun, trial: Any, ignored: Any, started: float) -> None:
        """What follows a step: callbacks, and what they ask for."""
        self.state.global_step = run.taken_steps
        self.state.epoch = run.taken_steps * run.expected_batch_size / len(self.train_dataset)
        self.control = self.callback_handler.on_step_end(self.args, self.state, self.control)
        self._log_save_evaluate(trial, ignored, started)

    def _log_save_evaluate(self, trial: Any, ignored: Any, started: float) -> None:
        if self.control.should_log and not self._log_losses:
            self.control.should_log = False
            self.log({"learning_rate": self._get_learning_rate()}, started)
        self._maybe_log_save_evaluate(
            self._tr_loss, None, self.model, trial, self.state.epoch, ignored, started
        )
        self._to_training_mode()

    def _to_training_mode(self) -> None:
        """Evaluation leaves the model in evaluation mode."""
        self.model.train()
        assert self.run is not None
        self.run.model.train()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """As the parent does, without a mean of training losses unless they are to be logged."""
        super().log({k: logs[k] for k in logs if self._log_losses or k != "train_loss"}, start_time)

    # -- checkpoints and the statement ------------------------------------------------------------

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        """The state of the run: optimizer, noise and place in the batches; as secret as the data.

        It continues with any number of processes.
        """
        assert self.run is not None
        folder = Path(output_dir)
        if self.args.should_save:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(folder / STATE, ignore_errors=True)
            torch.save(self.lr_scheduler.state_dict(), folder / SCHEDULE)
        if in_group():
            torch.distributed.barrier()
        self.run.save(folder / STATE)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        assert self.run is not None
        assert checkpoint is not None
        self.run.load(Path(checkpoint) / STATE)
        self.lr_scheduler.load_state_dict(torch.load(Path(checkpoint) / SCHEDULE))

    def _finish(self, run: TorchRun) -> None:
        """The statement beside the model; who has a checkpoint afterwards does not know the noise.

        An interrupted run keeps its states: it may be resumed.
        """
        delta = run.delta if self._delta is None else self._delta
        if not self.args.should_save:
            return
        remove_secrets(Path(self.args.output_dir))
        if delta is not None:
            Path(self.args.output_dir).mkdir(parents=True, exist_ok=True)
            stated = self.statement(delta=delta)
            stated.save(Path(self.args.output_dir) / STATEMENT)
            self.log({"epsilon": stated.epsilon, "delta": stated.delta})

    def statement(self, *, delta: float | None = None, **options: Any) -> Statement:
        """The privacy statement of the run.

        Parameters
        ----------
        delta
            In (0, 1); by default the one that the trainer was given.
        options
            Those of `training.statement`.
        """
        if self.run is None:
            raise PlanMismatch("There is no run yet; call train() first.")
        return self.run.statement(delta=self._delta if delta is None else delta, **options)

    def hyperparameter_search(self, *_: Any, **__: Any) -> Any:
        """Refused: every trial is a run on the same data, and all of them count."""
        raise PlanMismatch(
            "Every trial of a search is a run on the same data, and all of them count: account for "
            "them together before the first one, see `hockeystick docs stopping`."
        )
