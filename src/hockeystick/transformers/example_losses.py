"""The loss of each example, with its tokens averaged, for the heads of Hugging Face models.

The models' own losses are means over all tokens of a batch: how much an example counts depends on
the lengths of the others. Here it does not.

What nobody may know of a run: its noise, and what dropout draws.
"""

from __future__ import annotations

import random
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from hockeystick.errors import InvalidParameter

__all__ = [
    "STATE",
    "ExampleLoss",
    "example_loss",
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
