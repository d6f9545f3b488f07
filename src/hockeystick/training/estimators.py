"""Linear models with the interface of scikit-learn, fitted by private gradient descent."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.accounting.calibrate import calibrate
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.plan import Plan
from hockeystick.schemes import SCHEMES
from hockeystick.training.linear_models import softmax
from hockeystick.training.run import PrivateRun

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtra("Estimators need scikit-learn", extra="train") from error

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression"]


class _Private:
    """What both have in common: parameters, the plan, and the loop."""

    epsilon: float
    delta: float
    plan: Plan | None
    steps: int
    max_grad_norm: float
    learning_rate: float
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.non_deterministic = self.random_state is None
        # With few examples, most of the result is noise.
        for own in (tags.regressor_tags, tags.classifier_tags):
            if own is not None:
                own.poor_score = True
        return tags

    def _descend(self, examples: FloatArray, slopes: Any, outputs: int) -> FloatArray:
        """Private gradient descent; the parameters as (features + 1) rows, intercept last.

        `slopes` gives the derivative of each example's loss in its scores, so that its gradient
        is their product with the features and a one.
        """
        plan = self._settled_plan()
        found = calibrate(plan, epsilon=self.epsilon, delta=self.delta)
        rate = check.positive("learning_rate", self.learning_rate)
        wide = np.hstack((examples, np.ones((len(examples), 1))))
        weights = np.zeros((wide.shape[1], outputs))
        run = PrivateRun(
            plan,
            examples=len(wide),
            dimension=weights.size,
            noise_multiplier=found.noise_multiplier,
            max_grad_norm=self.max_grad_norm,
            rng=_seed(self.random_state),
        )

        def gradients(batch: Any) -> FloatArray:
            rows = wide[batch][:, :, None] * slopes(wide[batch] @ weights, batch)[:, None, :]
            flat: FloatArray = rows.reshape(len(batch), weights.size)
            return flat

        for _ in range(plan.steps):
            weights -= rate * run.step(gradients).reshape(weights.shape)
        self.n_iter_, self.record_ = run.taken_steps, run.record()
        self.statement_ = run.statement(delta=self.delta, parameters=weights.ravel())
        return weights

    def _settled_plan(self) -> Plan:
        if self.plan is None:
            full = SCHEMES["full-batch"]()
            return Plan(sampling=full, steps=check.positive_integer("steps", self.steps))
        if not isinstance(self.plan, Plan):
            raise InvalidParameter("plan", "a Plan or None", self.plan)
        return self.plan


class PrivateLogisticRegression(_Private, ClassifierMixin, BaseEstimator):
    """Logistic regression for two or more classes, (epsilon, delta)-private for each example.

    Private gradient descent on the cross entropy, from zero; the noise is calibrated to `epsilon`
    and `delta`. The number of examples is public. Features are used as they are: scale them by what
    is known about them, because statistics of the data would need a budget of their own.

    Parameters
    ----------
    epsilon, delta
        The guarantee of one call of `fit`; several calls on the same data compose.
    plan
        Batches, steps and noise; by default all examples in each of `steps` steps.
    steps
        Without a plan.
    max_grad_norm, learning_rate
        The clip norm of each example's gradient, and the size of an update.
    classes
        All labels that can occur. If it is left out they are read from the data, with a warning:
        the guarantee does not cover which labels occur.
    random_state
        A seed, as secret as the data; by default fresh and secret.

    Attributes
    ----------
    statement_, record_
        The privacy statement, and the record of the run for joint statements of several fits.
    coef_, intercept_, classes_, n_iter_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> x = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = hs.training.PrivateLogisticRegression(epsilon=1.0, classes=(0, 1), random_state=1)
    >>> model.fit(x, x[:, 0] > 0).score(x, x[:, 0] > 0) > 0.9
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        plan: Plan | None = None,
        steps: int = 50,
        max_grad_norm: float = 1.0,
        learning_rate: float = 1.0,
        classes: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.plan, self.steps = epsilon, delta, plan, steps
        self.max_grad_norm, self.learning_rate = max_grad_norm, learning_rate
        self.classes, self.random_state = classes, random_state

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - the name in scikit-learn
        """Fit the model, spending (epsilon, delta).

        Parameters
        ----------
        X
            A matrix with a row for each example.
        y
            A label for each example.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        if self.classes is None:
            warnings.warn(
                "The labels that occur were read from the data, which the guarantee does not "
                "cover; give classes=.",
                stacklevel=2,
            )
        self.classes_ = np.unique(y if self.classes is None else np.asarray(self.classes))
        if len(self.classes_) < 2:
            raise InvalidParameter("y", "labels of more than one class", self.classes_)
        if not np.isin(y, self.classes_).all():
            raise InvalidParameter("y", "labels among the given classes", "others")
        numbers = np.searchsorted(self.classes_, y)
        hot = np.eye(len(self.classes_))[numbers]

        def slopes(scores: FloatArray, batch: Any) -> FloatArray:
            return softmax(scores) - hot[batch]

        weights = self._descend(X, slopes, len(self.classes_))
        self.coef_, self.intercept_ = weights[:-1].T, weights[-1]
        if len(self.classes_) == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            self.intercept_ = self.intercept_[1:] - self.intercept_[:1]
        return self

    def decision_function(self, X: Any) -> FloatArray:  # noqa: N803
        """The score of each class; of the second one, if there are two.

        Parameters
        ----------
        X
            A matrix with a row for each example.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)  # noqa: N806
        scores: FloatArray = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """The probability of each class.

        Parameters
        ----------
        X
            A matrix with a row for each example.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack((np.zeros_like(scores), scores))
        return softmax(scores)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The most likely class of each example.

        Parameters
        ----------
        X
            A matrix with a row for each example.
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]


class PrivateLinearRegression(_Private, RegressorMixin, BaseEstimator):
    """Least squares, (epsilon, delta)-private for each example.

    Private gradient descent on half the squared errors, from zero. Targets and features are used as
    they are; a gradient longer than `max_grad_norm` is shortened to it.

    Parameters
    ----------
    epsilon, delta, plan, steps, max_grad_norm, learning_rate, random_state
        As for `PrivateLogisticRegression`.

    Attributes
    ----------
    statement_, record_
        The privacy statement, and the record of the run for joint statements of several fits.
    coef_, intercept_, n_iter_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> x = np.random.default_rng(0).normal(size=(5000, 2))
    >>> model = hs.training.PrivateLinearRegression(epsilon=1.0, random_state=1)
    >>> bool(abs(model.fit(x, x[:, 0]).coef_ - [1, 0]).max() < 0.1)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        plan: Plan | None = None,
        steps: int = 50,
        max_grad_norm: float = 1.0,
        learning_rate: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.plan, self.steps = epsilon, delta, plan, steps
        self.max_grad_norm, self.learning_rate = max_grad_norm, learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fit the model, spending (epsilon, delta).

        Parameters
        ----------
        X
            A matrix with a row for each example.
        y
            A number for each example.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)  # noqa: N806
        targets = np.asarray(y, dtype=np.float64)[:, None]

        def slopes(scores: FloatArray, batch: Any) -> FloatArray:
            return scores - targets[batch]

        weights = self._descend(X, slopes, 1)
        self.coef_, self.intercept_ = weights[:-1, 0], float(weights[-1, 0])
        return self

    def predict(self, X: Any) -> FloatArray:  # noqa: N803
        """The fitted value of each example.

        Parameters
        ----------
        X
            A matrix with a row for each example.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)  # noqa: N806
        return np.asarray(X @ self.coef_ + self.intercept_, dtype=np.float64)


def _seed(random_state: Any) -> Any:
    """None stays secret; of a generator of NumPy only a seed is drawn."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return random_state
