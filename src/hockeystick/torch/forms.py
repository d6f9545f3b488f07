"""The two forms of make_private: a plan with its noise, or a guarantee to choose them for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.sequence import Sequence
from hockeystick.torch.choice import chosen
from hockeystick.torch.epochs import EpochSplit

__all__ = ["Form", "settled_form"]

EXPLICIT = ("plan", "noise_multiplier")
COMMON = ("epsilon", "delta", "batch_size")


@dataclass(frozen=True, eq=False)
class Form:
    """What is run: given, or chosen for a guarantee (`choice` says why, `delta` was asked for)."""

    plan: Plan
    noise_multiplier: float
    epochs: int | None
    delta: float | None = None
    choice: str | None = None

    @property
    def passes(self) -> EpochSplit:
        """What one pass over the loader is: an epoch, or without `epochs` the whole run."""
        return EpochSplit.checked(self.plan.steps, self.epochs)


def settled_form(
    optimizer: torch.optim.Optimizer,
    *,
    examples: int,
    epochs: Any,
    given: dict[str, Any],
    exact: bool = False,
) -> Form:
    """The plan and its noise; one sentence unless exactly one form is complete."""
    named = [name for name in (*EXPLICIT, *COMMON) if given[name] is not None]
    if named == list(EXPLICIT):
        plan, noise_multiplier = given["plan"], given["noise_multiplier"]
        if isinstance(plan, Sequence):
            allowed = "a Plan: each phase of a Sequence is a run of its own, on the same model"
            raise InvalidParameter("plan", allowed, plan, page="docs/stopping.md#two-phases")
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        return Form(plan.exact() if exact else plan, noise_multiplier, epochs)
    if named != list(COMMON) or epochs is None:
        named += [] if epochs is None else ["epochs"]
        allowed = (
            "given either plan and noise_multiplier (hs.calibrate(plan, epsilon=, delta=) finds "
            "it), or epsilon, delta, epochs and batch_size (max_grad_norm in both forms)"
        )
        raise InvalidParameter("make_private", allowed, ", ".join(named) or None)
    for name in ("attribution", "filter"):
        if given[name] is not None:
            allowed = "left out where the plan is chosen; give plan and noise_multiplier with it"
            raise InvalidParameter(name, allowed, given[name])
    asked = {name: given[name] for name in COMMON}
    found = chosen(optimizer, examples=examples, epochs=epochs, exact=exact, **asked)
    return Form(
        found.plan,
        found.noise_multiplier,
        epochs,
        delta=check.small_probability("delta", given["delta"]),
        choice=found.text,
    )
