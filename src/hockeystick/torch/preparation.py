"""make_private: from a model, an optimizer, data and a plan to a run that follows the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from hockeystick import _validate as check
from hockeystick.accounting.account import account
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes import Attribution
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.budgets import DatasetNorms, FilterBudget, IndividualBudget, Loss, PlanBudget
from hockeystick.torch.checkpoint import RunCheckpoint
from hockeystick.torch.checks import GroupClaim, checked_parameters
from hockeystick.torch.clipping import Clipping, PerSampleClipping
from hockeystick.torch.ghost import GhostClipping
from hockeystick.torch.gradient_sums import GradientSums
from hockeystick.torch.loader import Collate, PlanLoader, check_options, examples_of
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.progress import Budget, Progress, RunSettings
from hockeystick.torch.run import TorchRun
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
) -> TorchRun:
    """A run in which the plan draws the batches and the noise: `model, optimizer, loader = run`.

    In each step the gradient of every example in the plan's batch is clipped to `max_grad_norm`;
    their sum plus the plan's noise C^-1 Z, Z of standard deviation noise_multiplier *
    max_grad_norm, is divided by the *expected* batch size and given to the optimizer. Whatever
    would be another mechanism than the accounted one raises `PlanMismatch`: batches of another
    loader, further steps, a changed setting, the optimizer's own step.

    Parameters
    ----------
    model
        A module in training mode; it is trained in place.
    optimizer
        An ordinary optimizer of the model's parameters.
    dataset
        Examples by index, with a length.
    plan
        Batches, steps and noise.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm of each example's gradient.
    attribution
        The graph of examples and users, for schemes that protect users.
    physical_batch_size
        The most examples in memory at once; larger batches come in parts, and the optimizer
        updates after the last one. Batches and noise stay the same.
    clipping
        "per-sample", or "ghost": less memory.
    filter
        Its permit is requested before each batch; when it refuses, the loader ends. It needs
        Poisson or full batches and independent noise. `Individual` needs `loss` as well, and a pass
        over all data for each step.
    loss
        loss(model, batch), one value for each example, as the loop computes it.
    loader_options
        Further options of PyTorch's loader, such as collate_fn or num_workers.
    rng
        One seed for batches and noise; None and "chacha" are secret.

    Returns
    -------
    TorchRun
        Model, optimizer and loader, which belong together.

    Raises
    ------
    InvalidParameter
        For models, optimizers and settings that cannot be run privately.
    UnsupportedPlan
        If no analysis applies to the plan.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> data = torch.utils.data.TensorDataset(torch.randn(100, 3), torch.randint(2, (100,)))
    >>> network = torch.nn.Linear(3, 2)
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=3)
    >>> run = hs.torch.make_private(
    ...     network,
    ...     torch.optim.SGD(network.parameters(), lr=0.1),
    ...     data,
    ...     plan,
    ...     noise_multiplier=1.0,
    ...     max_grad_norm=1.0,
    ... )
    >>> model, optimizer, loader = run
    >>> criterion = run.loss(torch.nn.CrossEntropyLoss())
    >>> for inputs, labels in loader:
    ...     if len(inputs):
    ...         criterion(model(inputs), labels).backward()
    ...     optimizer.step()
    ...     optimizer.zero_grad()
    >>> run.taken_steps, run.stopped_by
    (3, 'plan')
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
    charges = _checked_charges(filter, loss, settings)
    parameters = checked_parameters(model, optimizer)
    claim = GroupClaim()
    claim()
    of_batches, of_noise = _sources(rng)
    batches = BatchSampler(plan, examples=graph, rng=of_batches)
    noise = TorchNoiseStream(
        plan,
        parameters,
        noise_multiplier=settings.noise_multiplier,
        max_grad_norm=settings.max_grad_norm,
        rng=of_noise,
    )
    # From here on the model has Opacus' hooks: everything that can be refused was checked before.
    clip = CLIPPINGS[clipping](model, clip=settings.max_grad_norm)
    norms = None
    if isinstance(filter, Individual) and loss is not None:
        collate = Collate(dataset, options.get("collate_fn"))
        norms = DatasetNorms(clip, parameters, dataset, loss=loss, collate=collate, most=most)
    progress = Progress(settings, _budget(filter, settings, norms, charges))
    gradients = GradientSums(clip, parameters, progress, claim)
    wrapped = PlanOptimizer(
        optimizer,
        progress=progress,
        gradients=gradients,
        noise=noise,
        saved=RunCheckpoint(progress, batches),
    )
    loader = PlanLoader(dataset, batches=batches, progress=progress, most=most, options=options)
    return TorchRun(
        clipping=clip,
        gradients=gradients,
        optimizer=wrapped,
        loader=loader,
        progress=progress,
        privacy_filter=filter,
    )


def _budget(
    privacy_filter: Filter | Individual | None,
    settings: RunSettings,
    norms: DatasetNorms | None,
    charges: dict[str, float],
) -> Budget:
    """What permits the steps: the plan, a filter, or budgets of single examples."""
    if privacy_filter is None:
        return PlanBudget(settings.max_grad_norm)
    if isinstance(privacy_filter, Individual):
        assert norms is not None
        return IndividualBudget(privacy_filter, norms, **charges)
    return FilterBudget(privacy_filter, **charges)


def _settled(
    plan: Plan,
    dataset: Any,
    attribution: Attribution | None,
    *,
    noise_multiplier: float,
    max_grad_norm: float,
    clipping: str,
    rng: RandomSource,
) -> tuple[RunSettings, int | Attribution]:
    """The settings of the run, checked, and what its batches are drawn from."""
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)
    require_gaussian(plan)
    if clipping not in CLIPPINGS:
        raise InvalidParameter("clipping", f"one of {', '.join(CLIPPINGS)}", clipping)
    examples = examples_of(dataset)
    graph = _graph(plan, examples, attribution)
    size: Any = plan.sampling.expected_batch_size(graph)  # type: ignore[arg-type]
    settings = RunSettings(
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


def _checked_charges(
    privacy_filter: Filter | Individual | None, loss: Loss | None, settings: RunSettings
) -> dict[str, float]:
    """What a filter is charged with; plans without an analysis are refused before anything runs."""
    if privacy_filter is None:
        account(settings.plan, noise_multiplier=settings.noise_multiplier)
        return {}
    rate = rate_for_filters(settings.plan)
    describe_filter(privacy_filter)
    if isinstance(privacy_filter, Individual):
        if privacy_filter.examples != settings.examples:
            allowed = f"budgets for {settings.examples} examples"
            raise InvalidParameter("filter", allowed, privacy_filter.examples)
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
