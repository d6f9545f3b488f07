"""The forms of make_private: a plan with its noise or its guarantee, or a guarantee alone.

Arguments of other tools are answered with what to write here. Epochs are the steps of a run in
parts that are as equal as possible.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import torch

from hockeystick import _validate as check
from hockeystick._foreign import MIGRATION, refuse_unknown_names
from hockeystick.accounting.calibrate import calibrate
from hockeystick.errors import InvalidParameter, UnknownParameter
from hockeystick.plan import Plan
from hockeystick.sequence import Sequence
from hockeystick.torch.choice import chosen

__all__ = [
    "COUNTERPARTS",
    "Epoch",
    "EpochSplit",
    "Form",
    "explains_foreign_arguments",
    "settled_form",
]


@dataclass(frozen=True)
class EpochSplit:
    """`steps` steps in `count` epochs, whose lengths differ by one at most."""

    steps: int
    count: int

    @classmethod
    def checked(cls, steps: int, epochs: Any) -> EpochSplit:
        """For a number of epochs that the user gave; None is one epoch with all steps."""
        count = 1 if epochs is None else check.positive_integer("epochs", epochs)
        if count > steps:
            raise InvalidParameter("epochs", f"at most the {steps} steps of the plan", epochs)
        return cls(steps, count)

    @classmethod
    def near(cls, steps: int, *, examples: int, expected_batch_size: float) -> EpochSplit:
        """Epochs in which as many examples are expected as there are."""
        passes = round(steps * expected_batch_size / examples)
        return cls(steps, min(max(passes, 1), steps))

    def end(self, number: int) -> int:
        """How many steps are taken when this epoch, counted from 0, is over."""
        return (number + 1) * self.steps // self.count

    def length(self, number: int) -> int:
        """The steps of this epoch."""
        return self.end(number) - self.end(number - 1)

    def at(self, taken: int) -> int:
        """The epoch of the next step; the last one if all steps are taken."""
        # The first epoch that ends after more than `taken` steps.
        return min(-(-(taken + 1) * self.count // self.steps), self.count) - 1


class Passes(Protocol):
    """A loader that can be iterated over until so many steps are taken."""

    def until(self, end: int) -> Iterator[Any]:
        """The batches of the steps before `end` that are left."""


@dataclass(frozen=True, eq=False)
class Epoch:
    """One epoch of a run, to iterate over; `run.epochs()` makes them.

    Parameters
    ----------
    number
        Counted from 0.
    steps
        Its steps, empty batches included: what `len` gives.
    end
        How many steps of the run are taken when it is over.
    loader
        The run's loader.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> data = torch.utils.data.TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    >>> run = hs.torch.make_private(
    ...     net, optimizer, data, plan, noise_multiplier=1.0, max_grad_norm=1.0
    ... )
    >>> [(epoch.number, len(epoch)) for epoch in run.epochs()]
    [(0, 1), (1, 1)]
    """

    number: int
    steps: int
    end: int
    loader: Passes

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Any]:
        """Batches of the steps up to its end, also those that an earlier epoch left."""
        return self.loader.until(self.end)


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
        if given["plan"] is None and given["noise_multiplier"] is not None:
            allowed += (
                "; noise alone says nothing about batches: plan=hs.Plan(sampling=hs.Poisson."
                "for_batch_size(512, examples=60_000), steps=hs.steps_for(...)), for instance"
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


P = ParamSpec("P")
R = TypeVar("R")

_MODEL = "the model is the first argument, before the optimizer and the data set"
_DATA = "the third argument is the data set itself (loader.dataset), and batch_size= goes with it"
_BATCHES = "the plan draws the batches, as they are accounted"
_STEPS = "give epochs= and batch_size=, or a plan with so many steps"
_STATEMENT = "the tightest proven analysis accounts for the plan, in run.statement()"
_RANDOM = "batches and noise come from a secret source of their own, or in tests from rng="
_PARTS = "batches are not accumulated by hand; physical_batch_size is the most that memory holds"
_LIMITS = (
    "physical_batch_size is the most examples in memory at once; batches with a cap need a plan "
    "with hs.Poisson(rate=..., max_batch_size=...), users with several examples attribution= "
    "(`hockeystick docs users`)"
)
_OPTIMIZER = (
    "momentum is read from the optimizer; for learning rates that change, hs.compare(..., "
    "learning_rates=) finds a plan to give here"
)
_PLAN = "it belongs into a plan, as in hs.Plan(sampling=..., steps=..., strategy=...)"

# From the name in Opacus, PyTorch or elsewhere; what is not here is in the table of all functions.
COUNTERPARTS = {
    **dict.fromkeys(("module", "net", "network"), _MODEL),
    **dict.fromkeys(("data_loader", "dataloader", "train_loader", "loader"), _DATA),
    **dict.fromkeys(("dataset", "train_data", "train_dataset"), "the data set is called data here"),
    **dict.fromkeys(
        ("sample_rate", "sampling_rate", "rate", "q"),
        "give batch_size=, or a plan such as hs.Plan(sampling=hs.Poisson(rate=0.01), steps=2000)",
    ),
    **dict.fromkeys(("poisson_sampling", "shuffle", "sampler", "batch_sampler"), _BATCHES),
    **dict.fromkeys(("drop_last", "expected_batch_size"), _BATCHES),
    **dict.fromkeys(("max_batch_size", "examples_per_user"), _LIMITS),
    **dict.fromkeys(("clip", "clip_norm", "clipping_norm"), "the clip norm is max_grad_norm"),
    **dict.fromkeys(("momentum", "learning_rates", "learning_rate_schedule"), _OPTIMIZER),
    **dict.fromkeys(("steps", "num_steps", "total_steps", "max_steps"), _STEPS),
    **dict.fromkeys(("alphas", "orders", "accountant", "accuracy", "method"), _STATEMENT),
    **dict.fromkeys(("noise_generator", "generator", "seed"), _RANDOM),
    **dict.fromkeys(
        ("users", "user_ids", "groups"),
        "attribution=hs.Attribution.from_users(users) says whose example is whose",
    ),
    "epsilon_tolerance": "the noise that is chosen never exceeds epsilon",
    "batch_first": "the examples are in the first dimension, always",
    "loss_reduction": "run.loss(criterion) has one loss for each example",
    "criterion": "run.loss(criterion) is called after make_private",
    "grad_sample_mode": "clipping= is 'per-sample', 'ghost' or a rule of hs.training",
    **dict.fromkeys(("gradient_accumulation_steps", "accumulation_steps"), _PARTS),
    **dict.fromkeys(("n_accumulation_steps", "num_microbatches", "grad_accum_steps"), _PARTS),
    **{
        name: f"give loader_options={{'{name}': ...}}"
        for name in ("num_workers", "collate_fn", "pin_memory", "prefetch_factor")
    },
    **dict.fromkeys(("sampling", "bands"), _PLAN),
}


def explains_foreign_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which says what to write for a name that it does not take."""
    known, caller = tuple(inspect.signature(function).parameters), function.__name__

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in kwargs.items():
            if name in COUNTERPARTS and name not in known:
                instead = COUNTERPARTS[name]
                raise UnknownParameter(name, value, caller=caller, instead=instead, page=MIGRATION)
        refuse_unknown_names(dict(kwargs), known, caller=caller)
        return function(*args, **kwargs)

    return checked
