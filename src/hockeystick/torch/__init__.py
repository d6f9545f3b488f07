"""PyTorch runs whose batches and noise are those of a plan (extra `torch`: PyTorch and Opacus).

`make_private` goes from a model, an optimizer, data and a plan to a run that follows the plan.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from hockeystick.errors import MissingExtra

try:
    import opacus  # noqa: F401 - only whether it is there
    import torch
except ImportError as error:
    raise MissingExtra("Training in PyTorch needs torch and opacus", extra="torch") from error

from hockeystick import _validate as check
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, cryptographic_if_secret
from hockeystick.schemes import Attribution
from hockeystick.strategies.noise import ARITHMETICS
from hockeystick.torch.assembly import RandomParts, RunInputs, assembled
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.canaries import sampler_of
from hockeystick.torch.checks import (
    check_several_ranks,
    checked_parameters,
    free_optimizer,
    unwrapped,
)
from hockeystick.torch.clipping import layers_of
from hockeystick.torch.forms import Epoch, explains_foreign_arguments, settled_form
from hockeystick.torch.loader import Collate, PlanLoader, check_options, examples_of
from hockeystick.torch.losses import PrivateCriterion, PrivateLoss
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.per_sample_module import free_module
from hockeystick.torch.probe_outcomes import ProbeReport
from hockeystick.torch.run import TorchRun
from hockeystick.torch.run_data import indexed
from hockeystick.torch.run_facts import fingerprint
from hockeystick.torch.run_group import RunGroup, in_group, told_to_other_ranks
from hockeystick.torch.run_settings import Loss, checked_charges, settled, sources
from hockeystick.torch.sharded_layout import layout_of
from hockeystick.training.adaptive_clipping import AdaptiveClipping, clipping_policy
from hockeystick.training.clip_rules import ClipRule

__all__ = [
    "BatchSampler",
    "Collate",
    "Epoch",
    "PlanLoader",
    "PlanOptimizer",
    "PrivateCriterion",
    "PrivateLoss",
    "ProbeReport",
    "TorchNoiseStream",
    "TorchRun",
    "fingerprint",
    "make_private",
]


@explains_foreign_arguments
def make_private(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Any,
    plan: Plan | None = None,
    *,
    noise_multiplier: float | None = None,
    max_grad_norm: float | AdaptiveClipping | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    epochs: int | None = None,
    batch_size: float | None = None,
    strategy: str | None = None,
    schemes: Collection[str] | None = None,
    verbose: bool = True,
    attribution: Attribution | None = None,
    physical_batch_size: int | None = None,
    clipping: str | ClipRule = "per-sample",
    filter: Filter | Individual | None = None,  # noqa: A002 - the word of the interface
    loss: Loss | None = None,
    loader_options: Mapping[str, Any] | None = None,
    noise_memory: str = "rows",
    rng: RandomSource = None,
    arithmetic: str = "float",
    canaries: int | None = None,
) -> TorchRun:
    """A run in which the plan draws the batches and the noise: `model, optimizer, loader = run`.

    Either `plan` and `noise_multiplier` say what is run (or `plan`, `epsilon` and `delta`, for
    which the noise is calibrated), or `epsilon`, `delta`, `epochs` and `batch_size` say what is
    wanted. Then plan and noise are those of the smallest error that `compare(quick=True)` finds
    among proven ones that suit the optimizer; one line says which and why. The error of correlated
    noise is that of SGD with its momentum; every other optimizer gets independent noise.

    In each step the gradient of every example in the plan's batch is clipped to `max_grad_norm`;
    their sum plus the plan's noise C^-1 Z, Z of standard deviation noise_multiplier *
    max_grad_norm, is divided by the *expected* batch size and given to the optimizer. Whatever
    would be another mechanism than the accounted one raises `PlanMismatch`: batches of another
    loader, further steps, a changed setting, the optimizer's own step.

    Inside an initialised `torch.distributed` group all ranks call it with the same arguments and
    make one run: each gets its share of every batch, sums are over all ranks, and each adds the
    noise of its own part of the parameters, once. The model is a plain one (that of the first rank
    is copied to the others), in `DistributedDataParallel`, or sharded by `fully_shard`.

    Parameters
    ----------
    model
        A module in training mode; it is trained in place. It may have been in a run that is over.
    optimizer
        An ordinary optimizer of the model's parameters.
    data
        Examples by index, with a length; or an `IterableDataset` with a length, of which every step
        reads one pass (see `hockeystick.torch.run_data`).
    plan
        Batches, steps and noise.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm of each example's gradient, or `hs.training.AdaptiveClipping`; left out if
        every layer has its own norm.
    epsilon, delta
        The guarantee for which plan and noise are chosen; the statement never exceeds it. `delta`
        beside a plan is that of `run.statement()`.
    epochs
        One pass over the loader is one of them: the steps are split as evenly as possible. Without
        it, one pass is the whole run.
    batch_size
        The expected batch size, where the plan is chosen; the steps are then
        ceil(epochs * examples / batch_size).
    strategy
        "independent" where the plan is chosen and its noise shall not be correlated.
    schemes
        Names of sampling schemes among which the plan is chosen, such as `["poisson"]`.
    verbose
        Whether the line about the choice goes to standard error; it is `run.choice` too.
    attribution
        The graph of examples and users, for schemes that protect users. Where the plan is chosen,
        the guarantee is then for users.
    physical_batch_size
        The most examples in memory at once; larger batches come in parts, and the optimizer
        updates after the last one. Batches and noise stay the same.
    clipping
        "per-sample", or "ghost": less memory. Both are flat: one clip norm for the whole gradient.
        "automatic" and "per-layer", or `Automatic(gamma=)` and `PerLayer(norms=)` of
        `hs.training`, are other rules with the same sensitivity.
    filter
        Its permit is requested before each batch, in a process group by the first rank; when it
        refuses, the loader ends. It needs Poisson or full batches and independent noise.
        `Individual` needs `loss` as well, and a pass over all data for each step.
    loss
        loss(model, batch), one value for each example, as the loop computes it.
    loader_options
        Further options of PyTorch's loader, such as collate_fn or num_workers.
    noise_memory
        "rows", or "replay" for strategies whose inverse has few bands: earlier noise is drawn again
        instead of being remembered.
    rng
        One seed for batches and noise; None and "chacha" are secret. In a process group that of the
        first rank counts.
    arithmetic
        "float", or "exact": gradients are rounded to a lattice, within the clip norm, and noise is
        an integer multiple of it, so that the guarantee holds to the last bit (docs/exact.md). The
        plan that is run is `plan.exact()`; ghost clipping forms the gradients of one layer at a
        time; generators are cryptographic by default.
    canaries
        How many canaries `run.audit()` compares with the plan, in coordinates of their own beside
        the parameters: at least 100, or None. A third of them alone, and a crowd of a third, are
        drawn into batches beside the examples, through the same sampler and the same noise. In one
        process, without a filter.

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
    ...     criterion(model(inputs), labels).backward()
    ...     optimizer.step()
    ...     optimizer.zero_grad()
    >>> run.taken_steps, run.stopped_by
    (3, 'plan')
    """
    check_options(options := dict(loader_options or {}))
    group = RunGroup() if in_group() else None
    with told_to_other_ranks(group):
        rule, clip, policy = clipping_policy(max_grad_norm, clipping, filter)
        exact = check.choice("arithmetic", arithmetic, ARITHMETICS) == "exact"
        most = None
        if physical_batch_size is not None:
            most = check.positive_integer("physical_batch_size", physical_batch_size)
        of_batches, of_noise = sources(cryptographic_if_secret(rng) if exact else rng)
        optimizer, data = free_optimizer(optimizer), indexed(data, options)
        wrapper, model = model, free_module(unwrapped(model))
        parameters = checked_parameters(model, optimizer)
        layers, sizes = layers_of(model, parameters), [p.numel() for p in parameters]
        parts = rule.parts(layers, sizes, max_grad_norm=clip)
        given = {
            "plan": plan,
            "noise_multiplier": noise_multiplier,
            "epsilon": epsilon,
            "delta": delta,
            "batch_size": batch_size,
            "strategy": strategy,
            "schemes": schemes,
            "attribution": attribution,
            "filter": filter,
        }
        sized = partial(settled_form, optimizer, examples=examples_of(data), epochs=epochs)
        settle = partial(sized, exact=exact, given=given)
        form = settle() if group is None or plan is not None else group.chosen(settle)
        settings, graph = settled(
            form.plan,
            data,
            attribution,
            noise_multiplier=form.noise_multiplier,
            parts=parts,
            policy=policy,
            clipping=rule.computed,
            arithmetic=arithmetic,
            rng=rng,
        )
        charges = checked_charges(filter, loss, settings)
        layout = layout_of(model, parameters, group)
        check_several_ranks(model, layout, filter)
        constant = filter is None and policy is None and group is None
        batches = sampler_of(settings, graph, canaries, rng=of_batches, constant=constant)
    run = assembled(
        RunInputs(model, wrapper, optimizer, parameters, parts, data, loss, filter, policy),
        layout,
        form=form,
        settings=settings,
        random=RandomParts(batches, of_noise, noise_memory),
        charges=charges,
        most=most,
        options={**options, "collate_fn": Collate(data, options.get("collate_fn"))},
    )
    if verbose and form.choice is not None and (group is None or group.first):
        sys.stderr.write(f"{form.choice}\n")
    return run
