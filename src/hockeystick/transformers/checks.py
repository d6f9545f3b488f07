"""What Hugging Face's trainer must not do in a private run: arguments, losses, secret states.

Arguments are translated, ignored or refused. The models' own losses are means over all tokens of a
batch, so that how much an example counts depends on the lengths of the others; here tokens are
averaged within each example. Nobody may know the noise of a run, or what dropout draws.
"""

from __future__ import annotations

import random
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import Trainer
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from hockeystick.errors import InvalidParameter

__all__ = [
    "STATE",
    "ExampleLoss",
    "check_arguments",
    "check_replaced",
    "example_loss",
    "loader_options",
    "remove_secrets",
    "secret_generators",
]

# From logits and labels to one value for each example.
ExampleLoss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

CAUSAL = frozenset(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
# Labels that do not count, as everywhere in transformers.
IGNORED = -100


def example_loss(model: Any) -> ExampleLoss:
    """The loss that belongs to the model's head.

    Parameters
    ----------
    model
        A model of transformers, also inside peft. Heads for causal and masked language models,
        token, sequence and image classification are known.

    Returns
    -------
    callable
        From logits and labels to one value for each example: the mean over its tokens that count.

    Raises
    ------
    InvalidParameter
        For other heads.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    kind = getattr(inner, "loss_type", None)
    if kind is None and type(inner).__name__ in CAUSAL:
        # Older heads, such as GPT2LMHeadModel, are not named after their loss.
        kind = "ForCausalLM"
    if kind not in LOSSES:
        allowed = (
            f"one of {', '.join(LOSSES)}, or given as loss(logits, labels) with one value for each "
            "example"
        )
        raise InvalidParameter("loss", allowed, type(inner).__name__)
    return LOSSES[kind]


def _of_tokens(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy, averaged over the tokens of each example that count; 0 if none does."""
    each = functional.cross_entropy(
        logits.float().transpose(1, 2), labels, reduction="none", ignore_index=IGNORED
    )
    return each.sum(dim=1) / (labels != IGNORED).sum(dim=1).clamp(min=1)


def _of_next_tokens(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Each token is predicted from those before it."""
    return _of_tokens(logits[:, :-1], labels[:, 1:])


def _of_classes(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Classes, several labels at once, or numbers, by the labels' type and shape."""
    logits = logits.float()
    if not labels.is_floating_point():
        return functional.cross_entropy(logits, labels, reduction="none")
    if logits.shape == labels.shape and labels.ndim == 2 and labels.shape[1] > 1:
        each = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return each.mean(dim=1)
    return functional.mse_loss(logits.flatten(), labels.flatten().float(), reduction="none")


LOSSES: dict[str, ExampleLoss] = {
    "ForCausalLM": _of_next_tokens,
    "ForMaskedLM": _of_tokens,
    "ForTokenClassification": _of_tokens,
    "ForSequenceClassification": _of_classes,
    "ForImageClassification": _of_classes,
}


# The state of the run inside a checkpoint: its noise, its place in the batches, the optimizer.
STATE = "private_run"
# Names in a checkpoint: that state, and the states of generators as the parent writes them.
SECRET = (STATE, "rng_state*.pth")


def remove_secrets(output: Path) -> None:
    """Remove them from the checkpoints in a folder."""
    for name in SECRET:
        for state in output.glob(f"checkpoint-*/{name}"):
            if state.is_dir():
                shutil.rmtree(state)
            else:
                state.unlink()


def secret_generators() -> None:
    """Dropout and random masks are drawn from secret seeds, not from `seed` of the arguments.

    A known seed would tell what every example draws, and with one example more all others in the
    batch draw something else: clipping bounds no such change.
    """
    torch.manual_seed(secrets.randbits(63))
    np.random.seed(secrets.randbits(32))  # noqa: NPY002 - what a model or collator may use
    random.seed(secrets.randbits(256))


_PLAN = "the plan says how many steps there are and how batches are drawn"
_PER_EXAMPLE = "losses are of single examples: give loss(logits, labels) with a value for each"
_SECRET = (
    "checkpoints have the noise of the run in them: push the finished model by "
    "model.push_to_hub(...) instead"
)
# Arguments of the parent that would put another loss in the place of the examples' own.
REPLACED = ("compute_loss_func", "model_init")
# Methods of the parent that the private loop does not call.
UNUSED = ("compute_loss", "training_step", "get_train_dataloader", "get_batch_samples")
# In the names of optimizers that update each layer as soon as its gradient is there.
IN_BACKWARD = ("layerwise", "lomo")


def _off(value: Any) -> bool:
    return not value


# Of each argument: what is allowed, and why nothing else is.
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "gradient_accumulation_steps": (
        lambda value: value == 1,
        "1: a batch is what the plan draws, and per_device_train_batch_size is the most of it in "
        "memory at once",
    ),
    "max_grad_norm": (
        lambda value: value in (None, 0, 0.0, 1.0),
        "left alone: the clip norm of each example is max_grad_norm of PlanTrainer, and the noisy "
        "mean is not clipped again",
    ),
    "label_smoothing_factor": (_off, f"0: {_PER_EXAMPLE}, with label_smoothing inside"),
    "fp16": (_off, "False: scaled losses change what is clipped; bf16=True needs no scaling"),
    "lr_scheduler_type": (
        lambda value: str(getattr(value, "value", value)) != "reduce_lr_on_plateau",
        "a schedule of the steps: rates that follow an evaluation change within a pass",
    ),
    "optim": (
        lambda value: not any(word in str(getattr(value, "value", value)) for word in IN_BACKWARD),
        "one that updates after the backward pass: within it gradients are neither clipped nor "
        "noisy",
    ),
    "dataloader_drop_last": (_off, f"False: {_PLAN}"),
    "train_sampling_strategy": (lambda value: value == "random", f"left alone: {_PLAN}"),
    "group_by_length": (_off, f"False: {_PLAN}"),
    "auto_find_batch_size": (_off, f"False: {_PLAN}"),
    "neftune_noise_alpha": (_off, "None: hooks that change embeddings are not probed"),
    "gradient_checkpointing": (
        _off,
        "left out: hooks for gradients of single examples need every activation; a smaller "
        "per_device_train_batch_size saves memory",
    ),
    "activation_checkpointing": (
        _off,
        "left out: hooks for gradients of single examples need every activation; a smaller "
        "per_device_train_batch_size saves memory",
    ),
    "torch_compile": (_off, "False: compiled models have no hooks for single examples"),
    "use_liger_kernel": (_off, "False: fused kernels have no hooks for single examples"),
    "fsdp": (_off, "left out: shard the model by fully_shard and use hs.torch.make_private"),
    "deepspeed": (_off, "left out: it exchanges gradients before they are clipped"),
    "parallelism_config": (_off, "left out: ranks share the batches of one run"),
    "push_to_hub": (_off, f"False: {_SECRET}"),
    "save_only_model": (_off, "False: a run without its noise cannot be resumed"),
}


def check_arguments(args: Any, *, steps: int | None) -> None:
    """`InvalidParameter` for arguments that would make another mechanism of it."""
    for name, (allows, allowed) in RULES.items():
        value = getattr(args, name, None)
        if value is not None and not allows(value):
            raise InvalidParameter(name, allowed, value)
    if getattr(args, "n_gpu", 0) > 1:
        allowed = "one device for each process: start several by torchrun, not DataParallel"
        raise InvalidParameter("n_gpu", allowed, args.n_gpu)
    if steps is not None and args.max_steps > 0 and args.max_steps != steps:
        allowed = f"left out, or the {steps} steps of the plan"
        raise InvalidParameter("max_steps", allowed, args.max_steps)


def check_replaced(trainer: type, options: Mapping[str, Any]) -> None:
    """`InvalidParameter` for losses and batches of a subclass, which would not be used."""
    for name in REPLACED:
        if options.get(name) is not None:
            allowed = "left out; give loss(logits, labels), and the model itself"
            raise InvalidParameter(name, allowed, options[name])
    for name in UNUSED:
        if getattr(trainer, name) is not getattr(Trainer, name):
            allowed = (
                "that of Trainer: the private loop does not call it; give loss(logits, labels), "
                "data_collator and the plan instead"
            )
            raise InvalidParameter(name, allowed, f"one of {trainer.__name__}")


def loader_options(args: Any, collate: Any, *, pin: bool) -> dict[str, Any]:
    """Those that say how examples are read, and not which."""
    found: dict[str, Any] = {"collate_fn": collate, "num_workers": args.dataloader_num_workers}
    if pin and args.dataloader_pin_memory:
        found["pin_memory"] = True
    if args.dataloader_num_workers:
        found["persistent_workers"] = args.dataloader_persistent_workers
        found["prefetch_factor"] = args.dataloader_prefetch_factor
    return found
