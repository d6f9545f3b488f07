"""Reductions of a criterion: which are exact for single examples, and what a sum means here."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from torch import nn

from hockeystick.errors import InvalidParameter

__all__ = ["unreduced"]


def unreduced(criterion: Any) -> tuple[Any, str]:
    """The criterion with a value for each example, and the reduction that it had before."""
    reduction = getattr(criterion, "reduction", "none")
    if reduction == "none":
        return criterion, reduction
    if reduction not in ("mean", "sum", "batchmean"):
        raise InvalidParameter("criterion", "one with reduction 'none', 'mean' or 'sum'", reduction)
    _refuse_weighted_mean(criterion)
    if reduction == "sum":
        warnings.warn(
            "reduction='sum' adds the losses within each example, as over its tokens; sums of "
            "gradients are divided by the expected batch size all the same, so that learning rates "
            "are those of reduction='mean'.",
            stacklevel=4,
        )
    each = copy.copy(criterion)
    each.reduction = "none"
    return each, reduction


def _refuse_weighted_mean(criterion: Any) -> None:
    weighted = isinstance(criterion, (nn.CrossEntropyLoss, nn.NLLLoss))
    if weighted and criterion.weight is not None and criterion.reduction == "mean":
        raise InvalidParameter(
            "criterion",
            "one with reduction='none': a weighted mean divides by the weights of all examples",
            criterion,
        )
