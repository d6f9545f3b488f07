"""Choice of plan and noise for a guarantee, by the error that the optimizer makes of the noise."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from hockeystick import _validate as check
from hockeystick.accounting.calibrate import calibrate
from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.accounting.compare import Compared, compare_run
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.schemes import Attribution

__all__ = ["STRATEGIES", "Choice", "chosen"]

STRATEGIES = ("auto", "independent")
# Of how many examples of one user a warning is given: always, and beside users with few.
VERY_MANY, MANY, MANY_TIMES = 100, 20, 4
ALLOWED = (
    "'auto' or 'independent'; one of your own belongs into a plan, such as plan=hs.Plan("
    "sampling=..., steps=n, strategy=hs.strategies.band_mf(n, bands=16)) beside epsilon and delta"
)


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and one line that says why."""

    plan: Plan
    noise_multiplier: float
    text: str


def chosen(
    optimizer: torch.optim.Optimizer,
    *,
    examples: int,
    batch_size: float,
    epochs: int,
    epsilon: float,
    delta: float,
    attribution: Attribution | None = None,
    strategy: str = "auto",
    schemes: Collection[str] | None = None,
    exact: bool = False,
) -> Choice:
    """The proven plan whose noise leaves the smallest error, of those that are quick to account.

    With an attribution the guarantee is for users. `strategy="independent"` leaves correlated noise
    out, and `schemes` all others than those that it names.

    The error of correlated noise is that of an optimizer whose iterates are linear in the
    gradients: SGD, with its momentum. Every other one gets independent noise. With `exact`
    arithmetic it is the best one with an `exact()` plan, calibrated once more for that.
    """
    momentum = linear_momentum(optimizer)
    sizes: dict[str, Any] = {
        "examples": examples,
        "batch_size": batch_size,
        "epochs": epochs,
        "momentum": momentum or 0.0,
        "optimizer": "other" if momentum is None else "sgd",
    }
    run = RunSize(**sizes) if attribution is None else _users(attribution, sizes)
    tried = candidates(run, schemes=schemes, quick=True)
    if check.choice("strategy", strategy, STRATEGIES, ALLOWED) == "independent":
        tried = [one for one in tried if one.strategy is None]
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    found = _proven(compare_run(run, tried, **asked)) if tried else []
    if not found:
        allowed = "with proven candidates that are quick to account (others: give a plan)"
        raise InvalidParameter("schemes", allowed, schemes)
    best, *others = _exact(found, **asked) if exact else found
    return Choice(
        plan=best.plan,
        noise_multiplier=best.calibration.noise_multiplier,
        text=_text(best, others, _reason(optimizer, momentum, strategy), bool(momentum)),
    )


@dataclass(frozen=True, kw_only=True)
class UserRunSize(RunSize):
    """A run for the users of a graph that is known."""

    attribution: Attribution

    @cached_property
    def data(self) -> Attribution:
        """The graph."""
        return self.attribution


def _users(attribution: Any, sizes: dict[str, Any]) -> RunSize:
    examples = sizes["examples"]
    if not isinstance(attribution, Attribution) or attribution.examples != examples:
        allowed = f"hs.Attribution.from_users(...) of the {examples} examples"
        raise InvalidParameter("attribution", allowed, attribution)
    most = int(attribution.most_examples_per_user)
    usual = len(attribution.members) / attribution.users
    if most >= VERY_MANY or (most >= MANY and most > MANY_TIMES * usual):
        warnings.warn(
            f"One user has {most:,} of the {examples:,} examples, and the noise grows with the "
            "most that one user has: hs.bound_contributions(attribution, examples_per_user=...) "
            "limits them. See `hockeystick docs users#how-many`.",
            UserWarning,
            stacklevel=2,
        )
    return UserRunSize(**sizes, attribution=attribution, examples_per_user=most)


def linear_momentum(optimizer: torch.optim.Optimizer) -> float | None:
    """The momentum of an optimizer whose iterates are linear in the gradients; None for others.

    Weight decay and learning rates do not count: they are the same for all candidates.
    """
    if type(optimizer) is not torch.optim.SGD:
        return None
    groups = optimizer.param_groups
    momenta = {float(group["momentum"]) for group in groups}
    plain = all(not group["nesterov"] and not group["dampening"] for group in groups)
    (momentum,) = momenta if len(momenta) == 1 else (None,)
    return momentum if plain and momentum is not None and 0 <= momentum < 1 else None


def _proven(found: list[Compared]) -> list[Compared]:
    return [one for one in found if one.answer.kind == "proven"]


def _exact(found: list[Compared], *, epsilon: float, delta: float) -> list[Compared]:
    """With the plans that exact arithmetic runs, as far as there are any; the first with its noise.

    The baseline is always among them.
    """
    kept = [one for one in found if _has_exact(one.plan)]
    plan = kept[0].plan.exact()
    if plan is not kept[0].plan:
        calibration = calibrate(plan, epsilon=epsilon, delta=delta)
        kept[0] = replace(kept[0], plan=plan, calibration=calibration)
    return kept


def _has_exact(plan: Plan) -> bool:
    try:
        plan.exact()
    except InvalidParameter:
        return False
    return True


def _reason(optimizer: torch.optim.Optimizer, momentum: float | None, strategy: str) -> str | None:
    """Why correlated noise was not tried; None if it was."""
    if strategy == "independent":
        return "was not tried, as asked"
    if momentum is not None:
        return None
    return (
        "was not tried, because its error is known for SGD without or with ordinary momentum and "
        f"not for {_optimizer(optimizer)}"
    )


def _text(best: Compared, others: list[Compared], untried: str | None, momentum: bool) -> str:
    """One line: what is run, for which guarantee, and why."""
    calibration, plan = best.calibration, best.plan
    of = "" if plan.sampling.unit == "example" else f" for each {plan.sampling.unit}"
    what = (
        f"hockeystick: {_named(plan.sampling.describe())} with {_noise(plan)}, noise multiplier "
        f"{calibration.noise_multiplier:.4g}, {plan.steps:,} steps for epsilon "
        f"{calibration.epsilon:g} at delta {calibration.delta:g}{of}"
    )
    if untried is not None:
        return f"{what}; correlated noise {untried}"
    error = f"error in the iterates of SGD{' with momentum' if momentum else ''}"
    plain = next((one for one in others if one.baseline), None)
    if not others:
        return f"{what}, the one proven candidate that is quick to account"
    if plain is None:
        return f"{what}, the smallest {error} of {len(others) + 1} proven candidates"
    less = 1 - best.mean_squared_error / plain.mean_squared_error
    return f"{what}, {less:.0%} less {error} than plain DP-SGD's"


def _noise(plan: Plan) -> str:
    described = plan.strategy.describe()
    independent = bool((plan.strategy.column_norms == 1).all()) and plan.strategy.bands == 1
    return "independent noise" if independent else f"noise of {_named(described)}"


def _named(described: Mapping[str, Any]) -> str:
    """The name with its numbers, as in "cyclic-poisson (rate 0.4, groups 4)"."""
    (_, name), *rest = described.items()
    numbers = ", ".join(
        f"{key} {value:.4g}"
        for key, value in rest
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    )
    return f"{name} ({numbers})" if numbers else str(name)


def _optimizer(optimizer: torch.optim.Optimizer) -> str:
    name = type(optimizer).__name__
    return f"the options of this {name}" if type(optimizer) is torch.optim.SGD else name
