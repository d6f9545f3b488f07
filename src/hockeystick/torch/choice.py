"""Choice of plan and noise for a guarantee, by the error that the optimizer makes of the noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hockeystick.plan import Plan

__all__ = ["Choice", "chosen"]


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and one line that says why."""

    plan: Plan
    noise_multiplier: float
    text: str


def chosen(
    optimizer: torch.optim.Optimizer,
    *,
    examples: int,
    batch_size: float,
    epochs: int,
    epsilon: float,
    delta: float,
) -> Choice:
    raise NotImplementedError
