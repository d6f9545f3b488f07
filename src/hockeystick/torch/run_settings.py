"""The settings, charges, budget and random sources of a run, checked before anything is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.accounting.account import account
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes import Attribution
from hockeystick.torch.budgets import FilterBudget, PlanBudget
from hockeystick.torch.individual_budgets import DatasetNorms, IndividualBudget, Loss
from hockeystick.torch.loader import examples_of
from hockeystick.torch.progress import Budget, RunSettings
from hockeystick.training.adaptive_clipping import AdaptiveClipping, check_adaptive
from hockeystick.training.clip_rules import ClipParts
from hockeystick.training.filtered import describe_filter, rate_for_filters, warn_of_unexpected
from hockeystick.training.plan_object import require_gaussian

__all__ = ["budget_of", "checked_charges", "settled", "sources"]


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
