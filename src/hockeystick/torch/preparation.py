"""make_private: from a model, an optimizer, data and a plan to a run that follows the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from opacus.grad_sample import AbstractGradSampleModule, GradSampleModule
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch.nn.parameter import UninitializedParameter

from hockeystick import _validate as check
from hockeystick.accounting.account import account
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes import Attribution
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.budgets import Budget, FilterBudget, IndividualBudget, PlanBudget
from hockeystick.torch.clipping import Clipping, PerSampleClipping
from hockeystick.torch.ghost import GhostClipping
from hockeystick.torch.gradient_sums import GradientSums
from hockeystick.torch.layers import refuse_mixing_layers
from hockeystick.torch.loader import PlanLoader, check_options, examples_of
from hockeystick.torch.noise_stream import NoiseStream
from hockeystick.torch.norms import AllNorms, Loss
from hockeystick.torch.optimizer import PlanOptimizer, trained_parameters
from hockeystick.torch.process_group import GroupClaim, refuse_parallel_modules
from hockeystick.torch.progress import Progress, Settings
from hockeystick.torch.run import PrivateRun
from hockeystick.torch.saved import Saved
from hockeystick.training.filtered import describe_filter, rate_for_filters
from hockeystick.training.plan_object import require_gaussian

__all__ = ["make_private"]

CLIPPINGS: dict[str, Callable[..., Clipping]] = {
    "per-sample": PerSampleClipping,
    "ghost": GhostClipping,
}


def make_private(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    dataset: Any,
    plan: Plan,
    *,
    noise_multiplier: float,
    max_grad_norm: float,
    attribution: Attribution | None = None,
    physical_batch_size: int | None = None,
    clipping: str = "per-sample",
    filter: Filter | Individual | None = None,  # noqa: A002 - the word of the interface
    loss: Loss | None = None,
    loader_options: Mapping[str, Any] | None = None,
    rng: RandomSource = None,
) -> PrivateRun:
    """A run in which the plan draws the batches and the noise: `model, optimizer, loader = run`.

    In each step the gradient of every example in the plan's batch is clipped to `max_grad_norm`;
    their sum plus the plan's noise C^-1 Z, Z of standard deviation noise_multiplier *
    max_grad_norm, is divided by the *expected* batch size and given to the optimizer. Whatever
    would be another mechanism than the accounted one raises `PlanMismatch`: batches of another
    loader, further steps, a changed setting, the optimizer's own step.

    Parameters
    ----------
    attribution
        The graph of examples and users, for schemes that protect users.
    physical_batch_size
        The most examples in memory at once; larger batches come in parts, and the optimizer
        updates after the last one. Batches and noise stay the same.
    clipping
        "per-sample", or "ghost": less memory.
    filter
        A filter is asked for a permit before each batch; when it refuses, the loader ends. It needs
        Poisson or full batches and independent noise. `Individual` needs `loss` as well, and a pass
        over all data for each step.
    loss
        loss(model, batch), one value for each example, as the loop computes it.
    loader_options
        Further options of PyTorch's loader, such as collate_fn or num_workers.
    rng
        One seed for batches and noise; None and "chacha" are secret.
    """
    check_options(options := dict(loader_options or {}))
    settings, graph = _settled(
        plan,
        dataset,
        attribution,
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_grad_norm,
        clipping=clipping,
        rng=rng,
    )
    most = None
    if physical_batch_size is not None:
        most = check.positive_integer("physical_batch_size", physical_batch_size)
    pricing = _checked_pricing(filter, loss, settings)
    parameters = _checked_parameters(model, optimizer)
    claim = GroupClaim()
    claim()
    of_batches, of_noise = _sources(rng)
    batches = BatchSampler(plan, examples=graph, rng=of_batches)
    noise = NoiseStream(
        plan,
        parameters,
        noise_multiplier=settings.noise_multiplier,
        max_grad_norm=settings.max_grad_norm,
        rng=of_noise,
    )
    # From here on the model has Opacus' hooks: everything that can be refused was checked before.
    clip = CLIPPINGS[clipping](model, clip=settings.max_grad_norm)
    if isinstance(filter, Individual):
        assert loss is not None
        collate = options.get("collate_fn")
        norms = AllNorms(clip, parameters, dataset, loss=loss, collate=collate, most=most)
        budget: Budget = IndividualBudget(filter, norms, **pricing)
    elif filter is not None:
        budget = FilterBudget(filter, **pricing)
    else:
        budget = PlanBudget(settings.max_grad_norm)
    progress = Progress(settings, budget)
    gradients = GradientSums(clip, parameters, progress, claim)
    wrapped = PlanOptimizer(
        optimizer,
        progress=progress,
        gradients=gradients,
        noise=noise,
        saved=Saved(progress, batches),
    )
    loader = PlanLoader(dataset, batches=batches, progress=progress, most=most, options=options)
    return PrivateRun(
        clipping=clip,
        gradients=gradients,
        optimizer=wrapped,
        loader=loader,
        progress=progress,
        governing=filter,
    )


def _settled(
    plan: Plan,
    dataset: Any,
    attribution: Attribution | None,
    *,
    noise_multiplier: float,
    max_grad_norm: float,
    clipping: str,
    rng: RandomSource,
) -> tuple[Settings, int | Attribution]:
    """The settings of the run, checked, and what its batches are drawn from."""
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)
    require_gaussian(plan)
    if clipping not in CLIPPINGS:
        raise InvalidParameter("clipping", f"one of {', '.join(CLIPPINGS)}", clipping)
    examples = examples_of(dataset)
    graph = _graph(plan, examples, attribution)
    size: Any = plan.sampling.expected_batch_size(graph)  # type: ignore[arg-type]
    settings = Settings(
        plan=plan,
        noise_multiplier=check.positive("noise_multiplier", noise_multiplier),
        max_grad_norm=check.positive("max_grad_norm", max_grad_norm),
        expected_batch_size=float(size),
        examples=examples,
        clipping=clipping,
        seeded=not (rng is None or isinstance(rng, str)),
    )
    return settings, graph


def _graph(plan: Plan, examples: int, attribution: Attribution | None) -> int | Attribution:
    """What batches are drawn from: the number of examples, or for users the graph."""
    if plan.sampling.unit != "user":
        if attribution is not None:
            allowed = "left out for a scheme that protects examples"
            raise InvalidParameter("attribution", allowed, attribution)
        return examples
    if not isinstance(attribution, Attribution) or attribution.examples != examples:
        allowed = f"an Attribution of the {examples} examples to users, for this scheme"
        raise InvalidParameter("attribution", allowed, attribution)
    return attribution


def _checked_pricing(
    governing: Filter | Individual | None, loss: Loss | None, settings: Settings
) -> dict[str, float]:
    """What a filter is asked with; plans that nothing prices are refused before anything runs."""
    if governing is None:
        account(settings.plan, noise_multiplier=settings.noise_multiplier)
        return {}
    rate = rate_for_filters(settings.plan)
    describe_filter(governing)
    if isinstance(governing, Individual):
        if governing.examples != settings.examples:
            allowed = f"budgets for {settings.examples} examples"
            raise InvalidParameter("filter", allowed, governing.examples)
        if loss is None:
            raise InvalidParameter("loss", "loss(model, batch) for individual budgets", loss)
        if settings.clipping != "per-sample":
            allowed = "'per-sample' for individual budgets"
            raise InvalidParameter("clipping", allowed, settings.clipping)
    return {
        "rate": rate,
        "noise_multiplier": settings.noise_multiplier,
        "clip": settings.max_grad_norm,
    }


def _checked_parameters(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> list[torch.Tensor]:
    """What the optimizer trains; all of it has to belong to the model."""
    if isinstance(model, AbstractGradSampleModule):
        raise InvalidParameter("model", "a module that is not wrapped by Opacus yet", type(model))
    if isinstance(optimizer, (DPOptimizer, PlanOptimizer)):
        raise InvalidParameter("optimizer", "an ordinary optimizer", type(optimizer))
    if isinstance(optimizer, torch.optim.LBFGS):
        allowed = "one that makes one update for each gradient, not several"
        raise InvalidParameter("optimizer", allowed, type(optimizer))
    if any(isinstance(p, UninitializedParameter) for p in model.parameters()):
        allowed = "initialised: call it on a batch of zeros before make_private"
        raise InvalidParameter("model", allowed, type(model))
    refuse_parallel_modules(model)
    refuse_mixing_layers(model)
    problems = ModuleValidator.validate(model, strict=False)
    problems += GradSampleModule.validate(model, strict=False)
    if problems:
        allowed = "a module in training mode whose layers have gradients for single examples"
        raise InvalidParameter("model", allowed, problems)
    parameters = trained_parameters(optimizer)
    known = {id(p) for p in model.parameters()}
    if not all(id(p) in known for p in parameters):
        raise InvalidParameter("optimizer", "one for parameters of the model", optimizer)
    return parameters


def _sources(rng: RandomSource) -> tuple[RandomSource, RandomSource]:
    """Where batches and noise come from: two secret sources, or two children of a seed."""
    if rng is None or isinstance(rng, str):
        return rng, rng
    if isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
        allowed = "None, 'chacha', a seed or a SeedSequence: batches and noise need one each"
        raise InvalidParameter("rng", allowed, rng)
    if not isinstance(rng, np.random.SeedSequence):
        generator(rng)  # refuses what is not a seed
        rng = np.random.SeedSequence(int(rng))
    first, second = (
        np.random.SeedSequence(
            rng.entropy, spawn_key=(*rng.spawn_key, child), pool_size=rng.pool_size
        )
        for child in (0, 1)
    )
    return first, second
