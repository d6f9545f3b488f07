"""Private fits of linear models: the reference loop."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource
from hockeystick.schemes import Attribution
from hockeystick.training.gradients import LinearModel, LinearRegression, LogisticRegression
from hockeystick.training.run import PrivateRun

__all__ = ["Fitted", "fit_linear", "fit_logistic"]

M = TypeVar("M", bound=LinearModel)


class Fitted(NamedTuple, Generic[M]):
    """The model, and the run that made it, which has the `statement`."""

    model: M
    run: PrivateRun


def fit_logistic(
    examples: Any,
    targets: Any,
    *,
    plan: Plan,
    noise_multiplier: float,
    max_grad_norm: float,
    learning_rate: float,
    attribution: Attribution | None = None,
    filter: Filter | Individual | None = None,  # noqa: A002 - the word of the interface
    rng: RandomSource = None,
) -> Fitted[LogisticRegression]:
    """Logistic regression by private gradient descent: a step of the plan for each update.

    `examples` is a matrix with a row for each example, `targets` are 0 or 1. parameters -=
    learning_rate * private gradient, from zero. For a scheme that protects users `attribution` says
    whose the examples are. A `filter` may end the run before the plan does.
    """
    return _fit(
        LogisticRegression,
        examples,
        targets,
        learning_rate,
        plan=plan,
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_grad_norm,
        attribution=attribution,
        filter=filter,
        rng=rng,
    )


def fit_linear(
    examples: Any,
    targets: Any,
    *,
    plan: Plan,
    noise_multiplier: float,
    max_grad_norm: float,
    learning_rate: float,
    attribution: Attribution | None = None,
    filter: Filter | Individual | None = None,  # noqa: A002 - the word of the interface
    rng: RandomSource = None,
) -> Fitted[LinearRegression]:
    """Least squares by private gradient descent; parameters as for `fit_logistic`."""
    return _fit(
        LinearRegression,
        examples,
        targets,
        learning_rate,
        plan=plan,
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_grad_norm,
        attribution=attribution,
        filter=filter,
        rng=rng,
    )


def _fit(
    kind: type[M],
    examples: Any,
    targets: Any,
    learning_rate: float,
    *,
    attribution: Attribution | None,
    **options: Any,
) -> Fitted[M]:
    """The loop itself."""
    x, y = _checked(examples, targets)
    if attribution is not None and attribution.examples != x.shape[0]:
        raise InvalidParameter("attribution", f"of {x.shape[0]} examples", attribution)
    rate = check.positive("learning_rate", learning_rate)
    model = kind(features=x.shape[1])
    model.check_targets(y)
    plan: Plan = options.pop("plan")
    run = PrivateRun(
        plan,
        examples=x.shape[0] if attribution is None else attribution,
        dimension=model.parameters.size,
        **options,
    )
    for _ in range(plan.steps):
        try:
            gradient = run.step(lambda batch: model.example_gradients(x[batch], y[batch]))
        except BudgetExceeded:
            break
        model.parameters -= rate * gradient
    return Fitted(model, run)


def _checked(examples: Any, targets: Any) -> tuple[FloatArray, FloatArray]:
    x = check.vector("examples", examples, "a matrix of numbers, a row for each example")
    if x.ndim != 2 or x.size == 0 or not np.isfinite(x).all():
        raise InvalidParameter("examples", "a finite matrix, a row for each example", x.shape)
    y = check.vector("targets", targets)
    if y.shape != x.shape[:1] or not np.isfinite(y).all():
        raise InvalidParameter("targets", f"{x.shape[0]} finite numbers", y.shape)
    return x, y
