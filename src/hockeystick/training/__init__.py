"""Training in plain NumPy: private fits of linear models; and the privacy statement of any run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource
from hockeystick.schemes import Attribution
from hockeystick.training import policies as policies
from hockeystick.training.adaptive_clipping import AdaptiveClipping
from hockeystick.training.clip_rules import Automatic, ClipRule, Flat, PerLayer
from hockeystick.training.coverage import Coverage
from hockeystick.training.filtered import describe_filter, rate_for_filters, warn_of_no_step
from hockeystick.training.fingerprints import fingerprint
from hockeystick.training.jax_bridge import JaxPrivacyExport, to_jax_privacy
from hockeystick.training.joint import JointStatement, joint_statement, load_statement
from hockeystick.training.linear_models import (
    LinearModel,
    LinearRegression,
    LogisticRegression,
    OuterProducts,
)
from hockeystick.training.recheck import Recheck, check_statement
from hockeystick.training.record import RunRecord, statement, versions_of
from hockeystick.training.run import PrivateRun
from hockeystick.training.schedules import TakenSteps
from hockeystick.training.signatures import new_key_files
from hockeystick.training.statements import Statement

if TYPE_CHECKING:
    from hockeystick.training.estimators import PrivateLinearRegression, PrivateLogisticRegression

__all__ = [
    "AdaptiveClipping",
    "Automatic",
    "Coverage",
    "Fitted",
    "Flat",
    "JaxPrivacyExport",
    "JointStatement",
    "LinearRegression",
    "LogisticRegression",
    "OuterProducts",
    "PerLayer",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateRun",
    "Recheck",
    "RunRecord",
    "Statement",
    "TakenSteps",
    "check_statement",
    "describe_filter",
    "fingerprint",
    "fit_linear",
    "fit_logistic",
    "joint_statement",
    "load_statement",
    "new_key_files",
    "rate_for_filters",
    "statement",
    "to_jax_privacy",
    "versions_of",
]


M = TypeVar("M", bound=LinearModel)


class Fitted(NamedTuple, Generic[M]):
    """The model, and the run that made it.

    Attributes
    ----------
    model
        The fitted model.
    run
        The run, which has the `statement`.
    """

    model: M
    run: PrivateRun

    def statement(self, *, delta: float, **options: Any) -> Statement:
        """The statement of the run, with the fingerprint of the model's parameters.

        Parameters
        ----------
        delta
            In (0, 1).
        options
            Those of `statement`.
        """
        options.setdefault("parameters", self.model.parameters)
        return self.run.statement(delta=delta, **options)


@check.known_names_only
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
    clipping: str | ClipRule = "flat",
) -> Fitted[LogisticRegression]:
    """Logistic regression by private gradient descent.

    Parameters
    ----------
    examples
        A matrix with a row for each example.
    targets
        One number for each example, 0 or 1.
    plan
        Batches, steps and noise; a step of the plan is an update
        parameters -= learning_rate * private gradient, from zero.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm of each gradient.
    learning_rate
        The size of an update.
    attribution
        Whose the examples are, for a scheme that protects users.
    filter
        A privacy filter or individual budgets; it may end the run before the plan does.
    rng
        Where batches and noise come from; by default a secret seed.
    clipping
        "flat", or "automatic" (`Automatic(gamma=)`).

    Returns
    -------
    Fitted
        The model, and the run that made it.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=30)
    >>> fitted = hs.training.fit_logistic(
    ...     x, x[:, 0] > 0, plan=plan, noise_multiplier=1, max_grad_norm=1, learning_rate=1, rng=1
    ... )
    >>> print(fitted.model.weights.round(1), fitted.run.taken_steps)
    [3.3 0. ] 30
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
        clipping=clipping,
    )


@check.known_names_only
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
    clipping: str | ClipRule = "flat",
) -> Fitted[LinearRegression]:
    """Least squares by private gradient descent.

    Parameters
    ----------
    targets
        One number for each example.
    examples, plan, noise_multiplier, max_grad_norm, learning_rate
        As for `fit_logistic`.
    attribution, filter, rng, clipping
        As for `fit_logistic`.

    Returns
    -------
    Fitted
        The model, and the run that made it.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=30)
    >>> fitted = hs.training.fit_linear(
    ...     x, x[:, 0], plan=plan, noise_multiplier=1, max_grad_norm=2, learning_rate=0.5, rng=1
    ... )
    >>> print(abs(fitted.model.weights.round(1)), fitted.run.taken_steps)
    [1. 0.] 30
    """
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
        clipping=clipping,
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
            if not run.taken_steps:
                warn_of_no_step()
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


def __getattr__(name: str) -> Any:
    """The estimators, which need scikit-learn, on demand."""
    if name in ("PrivateLinearRegression", "PrivateLogisticRegression"):
        from hockeystick.training import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
