"""The loss of each example, with its tokens averaged, for the heads of Hugging Face models.

The models' own losses are means over all tokens of a batch: how much an example counts depends on
the lengths of the others. Here it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from hockeystick.errors import InvalidParameter

__all__ = ["ExampleLoss", "example_loss"]

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
