"""Saved states as what `torch.load` reads without trusting the file: numbers, text and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

__all__ = ["from_portable", "to_portable"]


def to_portable(value: Any) -> Any:
    """Arrays become tensors, at any depth of mappings, lists and tuples."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, np.generic):
        return value.item()
    return _inside(value, to_portable)


def from_portable(value: Any) -> Any:
    """Tensors become arrays again."""
    if isinstance(value, torch.Tensor):
        return value.cpu().numpy().copy()
    return _inside(value, from_portable)


def _inside(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {name: change(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(change(part) for part in value)
    return value
