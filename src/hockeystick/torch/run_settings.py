"""The settings, charges, budget and random sources of a run, checked before anything is made.

Budgets for single examples are charged by the norms of their gradients.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.accounting import account
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes import Attribution
from hockeystick.torch.budgets import (
    FilterBudget,
    PlanBudget,
    check_remembered,
    check_same,
    identity,
)
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.loader import examples_of
from hockeystick.torch.progress import Budget, ClipLimit, RunSettings
from hockeystick.torch.repeated_steps import Witness
from hockeystick.torch.sums import per_example_norms
from hockeystick.training.adaptive_clipping import AdaptiveClipping, check_adaptive
from hockeystick.training.clip_rules import ClipParts
from hockeystick.training.filtered import describe_filter, rate_for_filters, warn_of_unexpected
from hockeystick.training.plan_object import require_gaussian
from hockeystick.training.schedules import StepSettings

__all__ = [
    "DatasetNorms",
    "IndividualBudget",
    "Loss",
    "budget_of",
    "checked_charges",
    "settled",
    "sources",
]

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]
# Examples whose gradients are held at a time by default: as many as a common batch.
AT_ONCE = 64


class IndividualBudget:
    """A budget for each example; all are charged, by the norms of their gradients, in each step."""

    noted: bool = False
    again: str | None = None
    before: Witness | None = None

    def __init__(
        self,
        privacy_filter: Individual,
        norms: Callable[[], FloatArray],
        *,
        rate: float,
        noise_multiplier: float,
        clip: float,
    ) -> None:
        self._filter, self._norms = privacy_filter, norms
        self._rate, self._noise_multiplier, self._clip = rate, noise_multiplier, clip
        self._held: tuple[int, ClipLimit] | None = None

    def use(self, now: StepSettings) -> None:
        """What the next steps are charged for."""
        assert now.rate is not None
        self._rate, self._noise_multiplier = now.rate, now.noise_multiplier
        self._clip = now.max_grad_norm

    def permit(self, step: int) -> ClipLimit:
        """A length for each example: its clipped norm, or what its budget still allows."""
        if self._held is None or self._held[0] != step:
            norms = self._norms()
            charged = self._filter.step(
                norms,
                rate=self._rate,
                noise_multiplier=self._noise_multiplier,
                clip_norm=self._clip,
            )
            # The gradients of the step itself may differ, by dropout or rounding: they are clipped
            # to the lengths that were charged.
            lengths = np.where(charged.active, charged.factors * norms, 0.0)
            self._held = (step, ClipLimit(self._clip, torch.from_numpy(lengths)))
        return self._held[1]

    def done(self) -> None:
        """The charge was made beforehand."""
        self._held = None

    def state(self) -> dict[str, Any]:
        """Which budgets these are, and how many steps were charged."""
        return {**identity(self._filter), "charged": self._filter.steps}

    def released(self, step: int, witness: Witness) -> None:
        """Charges follow from norms: a repeated step is charged again, and has other noise."""

    def check(self, state: dict[str, Any], run: str) -> None:
        """The same budgets, charged at least as often; `save` and `load` keep their state."""
        check_same(identity(self._filter), state)
        check_remembered(self._filter.steps, state.get("charged"))
        # Less may be left than the first time, and then sums differ: they need noise of their own.
        charged = self._filter.steps
        self.again = None if charged == state.get("charged") else f"charged {charged} steps"

    def restored(self) -> None:
        """What was charged stays charged."""


class DatasetNorms:
    """The norms of all examples' gradients, a pass over the data set for each step.

    Individual accounting charges every example in every step, in the batch or not.
    """

    def __init__(
        self,
        clipping: Clipping,
        parameters: list[torch.Tensor],
        dataset: Any,
        *,
        loss: Loss,
        collate: Callable[[list[Any]], Any],
        most: int | None,
    ) -> None:
        self._clipping, self._parameters, self._dataset = clipping, parameters, dataset
        self._loss, self._collate = loss, collate
        self._most = AT_ONCE if most is None else most

    def __call__(self) -> FloatArray:
        """At the present parameters, unclipped, in the order of the data set."""
        total = len(self._dataset)
        parts = [
            self._norms(range(start, min(start + self._most, total)))
            for start in range(0, total, self._most)
        ]
        norms = torch.cat(parts).double().cpu().numpy()
        # One that is not finite contributes nothing but is charged the full norm.
        return np.where(np.isfinite(norms), norms, np.finfo(np.float64).max)

    def _norms(self, which: range) -> torch.Tensor:
        batch = self._collate([self._dataset[i] for i in which])
        with torch.enable_grad(), self._clipping.model.of_examples(len(which)):
            losses = self._loss(self._clipping.model, batch)
            if not isinstance(losses, torch.Tensor) or losses.shape != (len(which),):
                allowed = "loss(model, batch) with one value for each example of the batch"
                got = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses)
                raise InvalidParameter("loss", allowed, got)
            rows = self._clipping.gradients(losses, self._parameters)
        if any(len(gradient) != len(which) for gradient in rows):
            allowed = "loss(model, batch), which gives every example of the batch a gradient"
            raise InvalidParameter("loss", allowed, self._loss)
        return per_example_norms(rows)


def budget_of(
    privacy_filter: Filter | Individual | None,
    settings: RunSettings,
    norms: DatasetNorms | None,
    charges: dict[str, float],
    lineage: Callable[[], str],
) -> Budget:
    """What permits the steps: the plan, a filter, or budgets of single examples."""
    if privacy_filter is None:
        return PlanBudget(settings.max_grad_norm)
    if isinstance(privacy_filter, Individual):
        assert norms is not None
        return IndividualBudget(privacy_filter, norms, **charges)
    warn_of_unexpected(
        privacy_filter, rate=charges["rate"], noise_multiplier=charges["noise_multiplier"]
    )
    return FilterBudget(privacy_filter, run=settings.run_id, lineage=lineage, **charges)


def settled(
    plan: Plan,
    data: Any,
    attribution: Attribution | None,
    *,
    noise_multiplier: float,
    parts: ClipParts,
    policy: AdaptiveClipping | None,
    clipping: str,
    arithmetic: str,
    rng: RandomSource,
) -> tuple[RunSettings, int | Attribution]:
    """The settings of the run, checked, and what its batches are drawn from."""
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)
    require_gaussian(plan)
    check_adaptive(policy, plan)
    examples = examples_of(data)
    graph = _graph(plan, examples, attribution)
    size: Any = plan.sampling.expected_batch_size(graph)  # type: ignore[arg-type]
    settings = RunSettings(
        plan=plan,
        noise_multiplier=check.positive("noise_multiplier", noise_multiplier),
        max_grad_norm=check.positive("max_grad_norm", parts.max_grad_norm),
        expected_batch_size=float(size),
        examples=examples,
        clipping=clipping,
        clip_rule=json.dumps(parts.described),
        seeded=not (rng is None or isinstance(rng, str)),
        arithmetic=arithmetic,
        policy="" if policy is None else repr(policy),
    )
    return settings, graph


def _graph(plan: Plan, examples: int, attribution: Attribution | None) -> int | Attribution:
    """What batches are drawn from: the number of examples, or for users the graph."""
    if plan.sampling.unit != "user":
        if attribution is not None:
            allowed = "for a scheme that protects users, as UserMinSep; this one protects examples"
            raise InvalidParameter("attribution", allowed, attribution, page="docs/users.md")
        return examples
    if not isinstance(attribution, Attribution) or attribution.examples != examples:
        allowed = f"hs.Attribution.from_users(...) of the {examples} examples, for this scheme"
        raise InvalidParameter("attribution", allowed, attribution)
    return attribution


def checked_charges(
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
        flat = settings.clip_facts["clipping"] == "flat"
        if settings.clipping != "per-sample" or not flat:
            allowed = "'per-sample' and flat for individual budgets"
            raise InvalidParameter("clipping", allowed, f"{settings.clipping} {settings.clip_rule}")
    return {
        "rate": rate,
        "noise_multiplier": settings.noise_multiplier,
        "clip": settings.max_grad_norm,
    }


def sources(rng: RandomSource) -> tuple[RandomSource, RandomSource]:
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
