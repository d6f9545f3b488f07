"""Arguments that other tools have: one sentence that names the counterpart here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

from hockeystick.errors import InvalidParameter

__all__ = ["COUNTERPARTS", "explains_foreign_arguments"]

P = ParamSpec("P")
R = TypeVar("R")

PLAN_DRAWS = "left out: the plan draws the batches"
PLAN_ACCOUNTS = "left out: run.statement() accounts for the plan"

# From the name in Opacus, TensorFlow Privacy or PyTorch to what has to be written here.
COUNTERPARTS = {
    "module": "given as the first argument, model",
    "data_loader": "given as the third argument, the data set itself (loader.dataset) with batch_size=",
    "dataloader": "given as the third argument, the data set itself (loader.dataset) with batch_size=",
    "dataset": "given as the third argument, data",
    "train_data": "given as the third argument, data",
    "target_epsilon": "called epsilon here",
    "target_delta": "called delta here",
    "sample_rate": "left out: give batch_size=, or a plan such as hs.Plan(sampling=hs.Poisson(rate=...))",
    "poisson_sampling": f"{PLAN_DRAWS}, by Poisson sampling or another scheme that was accounted",
    "steps": "left out: give epochs= and batch_size=, or a plan with so many steps",
    "total_steps": "left out: give epochs= and batch_size=, or a plan with so many steps",
    "num_steps": "left out: give epochs= and batch_size=, or a plan with so many steps",
    "alphas": f"{PLAN_ACCOUNTS}, without a list of orders to choose",
    "orders": f"{PLAN_ACCOUNTS}, without a list of orders to choose",
    "accountant": f"{PLAN_ACCOUNTS}, by the tightest analysis that is proven",
    "method": f"{PLAN_ACCOUNTS}; give method= to run.statement",
    "accuracy": f"{PLAN_ACCOUNTS}; give accuracy= to run.statement",
    "epsilon_tolerance": "left out: the noise that is chosen never exceeds epsilon",
    "noise_generator": "left out: noise comes from a secret source of its own, or from rng= in tests",
    "generator": "left out: noise comes from a secret source of its own, or from rng= in tests",
    "seed": "called rng here; without one, batches and noise are secret",
    "secure_mode": "left out: without rng=, batches and noise come from a secret source",
    "batch_first": "left out: the examples are in the first dimension, always",
    "loss_reduction": "left out: run.loss(criterion) has one loss for each example",
    "criterion": "left out: criterion = run.loss(criterion) after this call",
    "grad_sample_mode": 'left out: give clipping="per-sample" or clipping="ghost"',
    "clip": "called max_grad_norm here",
    "clipping_norm": "called max_grad_norm here",
    "l2_norm_clip": "called max_grad_norm here",
    "max_physical_batch_size": "called physical_batch_size here",
    "microbatches": "called physical_batch_size here: the most examples in memory at once",
    "num_microbatches": "left out: gradients are of single examples; physical_batch_size limits memory",
    "gradient_accumulation_steps": "left out: give physical_batch_size, the most examples in memory at once",
    "accumulation_steps": "left out: give physical_batch_size, the most examples in memory at once",
    "expected_batch_size": "left out: give batch_size=, or a plan, which knows it",
    "num_workers": "given as loader_options={'num_workers': ...}",
    "collate_fn": "given as loader_options={'collate_fn': ...}",
    "pin_memory": "given as loader_options={'pin_memory': ...}",
    "shuffle": PLAN_DRAWS,
    "sampler": PLAN_DRAWS,
    "batch_sampler": PLAN_DRAWS,
    "drop_last": PLAN_DRAWS,
    "sampling": "given inside of a plan: hs.Plan(sampling=..., steps=...)",
    "strategy": "given inside of a plan: hs.Plan(sampling=..., steps=..., strategy=...)",
    "target": "given as epsilon and delta",
    "n_accumulation_steps": "left out: give physical_batch_size, the most examples in memory at once",
}


def explains_foreign_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which refuses unknown names by `InvalidParameter` and a way out."""
    known = list(inspect.signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in kwargs.items():
            if name in known:
                continue
            near = get_close_matches(name, known, n=1)
            otherwise = f"left out or called {near[0]}" if near else "left out: it is not known here"
            raise InvalidParameter(name, COUNTERPARTS.get(name, otherwise), value)
        return function(*args, **kwargs)

    return checked
