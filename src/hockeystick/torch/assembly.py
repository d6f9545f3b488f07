"""From checked settings to a run: everything that loader, model and optimizer share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import ref

import torch
from torch.nn.parallel import DistributedDataParallel

from hockeystick.errors import PlanMismatch
from hockeystick.filters import Filter, Individual
from hockeystick.randomness import Key, RandomSource
from hockeystick.torch.adapting import Adapting
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.budgets import GroupBudget
from hockeystick.torch.canaries import CanaryBatches, CanaryNoise
from hockeystick.torch.checkpoint import RunCheckpoint
from hockeystick.torch.checks import GroupClaim
from hockeystick.torch.clipping import Clipping, PerSampleClipping
from hockeystick.torch.forms import Form
from hockeystick.torch.ghost import GhostClipping
from hockeystick.torch.gradient_sums import GradientSums
from hockeystick.torch.layouts import Layout
from hockeystick.torch.loader import PlanLoader
from hockeystick.torch.model_state import ChangeDetector
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.progress import Budget, Progress, RunSettings
from hockeystick.torch.run import TorchRun
from hockeystick.torch.run_data import refuse_other_data
from hockeystick.torch.run_group import RunGroup
from hockeystick.torch.run_settings import DatasetNorms, Loss, budget_of
from hockeystick.torch.sharded_layout import is_sharded
from hockeystick.training.adaptive_clipping import AdaptiveClipping, NormCount
from hockeystick.training.clip_rules import ClipParts
from hockeystick.training.filtered import facts_of_filter
from hockeystick.training.schedules import StepSettings
from hockeystick.training.sum_lattice import SumLattice

__all__ = ["RandomParts", "RunInputs", "assembled"]


def _per_sample(
    model: torch.nn.Module, layout: Layout, *, parts: ClipParts, spacing: float | None
) -> Clipping:
    """Of sharded models the gradients of examples are formed one layer at a time."""
    if layout.sharded:
        return GhostClipping(model, layout, parts=parts, formed=True, spacing=spacing)
    return PerSampleClipping(model, parts=parts, spacing=spacing)


CLIPPINGS: dict[str, Callable[..., Clipping]] = {
    "per-sample": _per_sample,
    "ghost": GhostClipping,
}


@dataclass(frozen=True, eq=False)
class RunInputs:
    """What the user gave to be run; `wrapper` may be a parallel one around the model."""

    model: torch.nn.Module
    wrapper: torch.nn.Module
    optimizer: torch.optim.Optimizer
    parameters: list[torch.Tensor]
    parts: ClipParts
    data: Any
    loss: Loss | None
    privacy_filter: Filter | Individual | None
    policy: AdaptiveClipping | None = None


@dataclass(frozen=True, eq=False)
class RandomParts:
    """Where batches and noise come from."""

    batches: BatchSampler
    noise_source: RandomSource
    noise_memory: str


def assembled(
    inputs: RunInputs,
    layout: Layout,
    *,
    form: Form,
    settings: RunSettings,
    random: RandomParts,
    charges: dict[str, float],
    most: int | None,
    options: dict[str, Any],
) -> TorchRun:
    """The run; everything that can be refused was checked, since the model has hooks from here."""
    key = Key.of(random.noise_source)
    described = None if inputs.privacy_filter is None else facts_of_filter(inputs.privacy_filter)
    if layout.group is not None:
        key, settings, described = _shared(
            layout.group, inputs, settings, random, key=key, described=described
        )
    now = _settings_now(settings, inputs.policy, charges)
    lattice = _lattice(settings, now, inputs.parameters)
    resolution = None if lattice is None else lattice.resolution
    noise = _noise(settings, now, inputs, layout, random, key=key, resolution=resolution)
    clip = CLIPPINGS[settings.clipping](
        inputs.model, layout, parts=inputs.parts, spacing=noise.lattice
    )
    budget = _budget(inputs, clip, settings, noise, charges=charges, most=most, options=options)
    if layout.group is not None and described is not None:
        budget = GroupBudget(budget, layout.group)
    progress = Progress(settings, budget, now=now, passes=form.passes, lattice=lattice)
    adapting = _adapting(inputs, progress, noise, random.batches, layout)
    claim = GroupClaim() if layout.group is None else _nothing
    changes = _changes(clip, layout, most)
    gradients = GradientSums(clip, inputs.parameters, progress, claim, layout, changes=changes)
    wrapped = PlanOptimizer(
        inputs.optimizer,
        progress=progress,
        gradients=gradients,
        noise=noise,
        saved=RunCheckpoint(progress, random.batches, layout, adapting),
        layout=layout,
        in_parts=most is not None,
        adapting=adapting,
    )
    clip.model.owner = ref(wrapped)
    _refuse_calls(inputs.wrapper, clip)
    loader = PlanLoader(
        inputs.data,
        batches=random.batches,
        progress=progress,
        optimizer=wrapped,
        most=most,
        options=options,
        group=layout.group,
    )
    return TorchRun(
        clipping=clip,
        gradients=gradients,
        optimizer=wrapped,
        loader=loader,
        progress=progress,
        filter_description=described,
        form=form,
        layout=layout,
        adapting=adapting,
        canaries=getattr(random.batches, "canaries", None),
    )


def _nothing() -> None:
    """The run has its process group."""


def _shared(
    group: RunGroup,
    inputs: RunInputs,
    settings: RunSettings,
    random: RandomParts,
    *,
    key: Key,
    described: Any,
) -> tuple[Key, RunSettings, Any]:
    """All ranks make the same run, with the batches, the noise and the filter of the first."""
    own = ("plan", "seeded", "run_id")
    facts = {name: value for name, value in vars(settings).items() if name not in own}
    plan = json.dumps(settings.plan.describe(), sort_keys=True, default=str)
    shapes = [(tuple(p.shape), str(p.dtype)) for p in inputs.parameters]
    optimizer = type(inputs.optimizer).__name__
    facts |= {"plan": plan, "the model": shapes, "the optimizer": optimizer}
    group.join(facts | {"noise_memory": random.noise_memory})
    refuse_other_data(group, inputs.data)
    if not any(is_sharded(p) for p in inputs.parameters):
        group.copy_of_first([*inputs.model.parameters(), *inputs.model.buffers()])
    random.batches.load_state_dict(group.of_first(random.batches.state_dict()))
    told = (key, settings.seeded, settings.run_id, described)
    key, seeded, run_id, described = group.of_first(told)
    return key, replace(settings, seeded=seeded, run_id=run_id), described


def _settings_now(
    settings: RunSettings, policy: AdaptiveClipping | None, charges: dict[str, float]
) -> StepSettings:
    """Those of the first step."""
    noise, count_noise = settings.noise_multiplier, None
    if policy is not None:
        size = settings.expected_batch_size
        count_noise = policy.noise_of_count(expected_batch_size=size, noise_multiplier=noise)
    return StepSettings(noise, settings.max_grad_norm, charges.get("rate"), count_noise)


def _adapting(
    inputs: RunInputs,
    progress: Progress,
    noise: TorchNoiseStream,
    batches: BatchSampler,
    layout: Layout,
) -> Adapting:
    """How settings change, with the count of norms if the clip norm is adapted."""
    counts, now, lattice = None, progress.now, progress.lattice
    if now.count_noise is not None:
        counts = NormCount(
            progress.settings.plan,
            dimension=sum(p.numel() for p in inputs.parameters),
            count_noise=now.count_noise,
            resolution=None if lattice is None else lattice.resolution,
        )
    return Adapting(progress, noise, batches, layout.group, policy=inputs.policy, counts=counts)


def _lattice(
    settings: RunSettings, now: StepSettings, parameters: list[torch.Tensor]
) -> SumLattice | None:
    """Where sums are with exact arithmetic."""
    if settings.arithmetic == "float":
        return None
    return SumLattice.of(
        noise_multiplier=now.gradient_noise,
        max_grad_norm=settings.max_grad_norm,
        dimension=sum(p.numel() for p in parameters),
        examples=settings.examples,
    )


def _noise(
    settings: RunSettings,
    now: StepSettings,
    inputs: RunInputs,
    layout: Layout,
    random: RandomParts,
    *,
    key: Key,
    resolution: int | None,
) -> TorchNoiseStream:
    """The noise of the coordinates that are held here, and of canaries."""
    options: dict[str, Any] = {
        "noise_multiplier": now.gradient_noise,
        "max_grad_norm": settings.max_grad_norm,
        "rng": key,
        "noise_memory": random.noise_memory,
        "arithmetic": settings.arithmetic,
        "resolution": resolution,
    }
    if isinstance(random.batches, CanaryBatches):
        return CanaryNoise(random.batches, settings.plan, layout.like(), **options)
    dimension = sum(p.numel() for p in inputs.parameters)
    options |= {"coordinates": layout.ranges, "dimension": dimension}
    return TorchNoiseStream(settings.plan, layout.like(), **options)


def _budget(
    inputs: RunInputs,
    clip: Clipping,
    settings: RunSettings,
    noise: TorchNoiseStream,
    charges: dict[str, float],
    *,
    most: int | None,
    options: dict[str, Any],
) -> Budget:
    norms, privacy_filter = None, inputs.privacy_filter
    if isinstance(privacy_filter, Individual) and inputs.loss is not None:
        norms = DatasetNorms(
            clip,
            inputs.parameters,
            inputs.data,
            loss=inputs.loss,
            collate=options["collate_fn"],
            most=most,
        )
    return budget_of(privacy_filter, settings, norms, charges, lambda: noise.lineage)


def _changes(clip: Clipping, layout: Layout, most: int | None) -> ChangeDetector:
    """With one example in every pass of a single process there is no probe."""
    unprobed = most == 1 and layout.group is None
    return ChangeDetector(clip.model._module, in_place=layout.sharded, unprobed=unprobed)


def _refuse_calls(wrapper: torch.nn.Module, clip: Clipping) -> None:
    """A parallel wrapper is not called while the run lasts: it exchanges unclipped gradients."""
    if isinstance(wrapper, DistributedDataParallel):
        handle = wrapper.register_forward_pre_hook(_refused_call)
        clip.model.autograd_grad_sample_hooks.append(handle)


def _refused_call(*_: Any) -> None:
    raise PlanMismatch(
        "The DistributedDataParallel model that was given to make_private would exchange gradients "
        "that are not clipped; call run.model in the loop."
    )
