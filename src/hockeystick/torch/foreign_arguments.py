"""Arguments of other tools that make_private is given: what to write here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from hockeystick._foreign import MIGRATION, refuse_unknown_names
from hockeystick.errors import UnknownParameter

__all__ = ["COUNTERPARTS", "explains_foreign_arguments"]

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
    "physical_batch_size is the most examples in memory at once; users with several examples need "
    "attribution= (`hockeystick docs users`)"
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
