"""The forms of make_private: a plan with its noise or its guarantee, or a guarantee alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hockeystick import _validate as check
from hockeystick.accounting.calibrate import calibrate
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.sequence import Sequence
from hockeystick.torch.choice import chosen
from hockeystick.torch.epochs import EpochSplit

__all__ = ["Form", "settled_form"]

EXPLICIT = ("plan", "noise_multiplier")
COMMON = ("epsilon", "delta", "batch_size")
# What narrows the choice.
CHOOSING = ("strategy", "schemes")


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
    named = {name for name in (*EXPLICIT, *COMMON) if given[name] is not None}
    narrowed = [name for name in CHOOSING if given[name] is not None]
    if narrowed and given["plan"] is not None:
        raise InvalidParameter(narrowed[0], "left out beside a plan", given[narrowed[0]])
    delta = given["delta"]
    if delta is not None:
        delta = check.small_probability("delta", delta)
    if named - {"delta"} == set(EXPLICIT) or named == {"plan", "epsilon", "delta"}:
        plan = _checked_plan(given["plan"])
        plan = plan.exact() if exact else plan
        noise = given["noise_multiplier"]
        if noise is None:
            noise = calibrate(plan, epsilon=given["epsilon"], delta=delta).noise_multiplier
        return Form(plan, noise, epochs, delta=delta)
    if named != set(COMMON) or epochs is None:
        shown = sorted(named | (set() if epochs is None else {"epochs"}))
        allowed = (
            "given either plan and noise_multiplier, or plan, epsilon and delta (which finds the "
            "noise), or epsilon, delta, epochs and batch_size (max_grad_norm in every form)"
        )
        raise InvalidParameter("make_private", allowed, ", ".join(shown) or None)
    if given["filter"] is not None:
        allowed = "left out where the plan is chosen; give plan and noise_multiplier with it"
        raise InvalidParameter("filter", allowed, given["filter"])
    asked = {name: given[name] for name in (*COMMON, "attribution")}
    asked |= {name: given[name] for name in narrowed}
    found = chosen(optimizer, examples=examples, epochs=epochs, exact=exact, **asked)
    return Form(found.plan, found.noise_multiplier, epochs, delta=delta, choice=found.text)


def _checked_plan(plan: Any) -> Plan:
    if isinstance(plan, Sequence):
        allowed = "a Plan: each phase of a Sequence is a run of its own, on the same model"
        raise InvalidParameter("plan", allowed, plan, page="docs/stopping.md#two-phases")
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)
    return plan
