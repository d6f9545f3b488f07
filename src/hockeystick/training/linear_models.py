"""Models that are linear in their parameters, with the exact gradient of every example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = ["LinearModel", "LinearRegression", "LogisticRegression", "softmax"]


class LinearModel(ABC):
    """A weight for each feature and an intercept, which is the last parameter.

    The score of an example x is w.x + b; the loss is a function of score and target, so that the
    gradient of one example is the derivative of its loss in the score, times (x, 1).
    """

    def __init__(self, *, features: int) -> None:
        self.parameters: FloatArray = np.zeros(check.positive_integer("features", features) + 1)

    @property
    def weights(self) -> FloatArray:
        """One for each feature."""
        return self.parameters[:-1]

    @property
    def intercept(self) -> float:
        """The score where all features are zero."""
        return float(self.parameters[-1])

    def scores(self, examples: Any) -> FloatArray:
        """w.x + b for each row x."""
        scores: FloatArray = check.vector("examples", examples) @ self.weights + self.intercept
        return scores

    def example_gradients(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """A row for each example: the gradient of its own loss, exact."""
        slopes = self._slopes(examples @ self.weights + self.intercept, targets)
        ones = np.ones((examples.shape[0], 1))
        return slopes[:, None] * np.hstack((examples, ones))

    @abstractmethod
    def losses(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """The loss of each example."""

    @abstractmethod
    def predict(self, examples: Any) -> FloatArray:
        """The prediction for each row."""

    @abstractmethod
    def check_targets(self, targets: FloatArray) -> None:
        """`InvalidParameter` for targets that the loss is not meant for."""

    @abstractmethod
    def _slopes(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        """The derivative of each example's loss in its score."""


class LogisticRegression(LinearModel):
    """Targets 0 and 1, whose odds are e^score; loss log(1 + e^score) - target * score.

    Parameters
    ----------
    features
        The number of weights; there is an intercept besides.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.LogisticRegression(features=2).predict([[1.0, 2.0]])
    array([0.5])
    """

    def losses(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """The negative log-likelihood of each target."""
        scores = self.scores(examples)
        return np.logaddexp(0.0, scores) - targets * scores

    def predict(self, examples: Any) -> FloatArray:
        """The probability that the target is 1, for each row."""
        return _sigmoid(self.scores(examples))

    def check_targets(self, targets: FloatArray) -> None:
        """They are 0 or 1."""
        if not np.isin(targets, (0.0, 1.0)).all():
            raise InvalidParameter("targets", "0 or 1, each of them", np.unique(targets)[:4])

    def _slopes(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        return _sigmoid(scores) - targets


class LinearRegression(LinearModel):
    """Real targets; loss half the squared distance of score and target.

    Parameters
    ----------
    features
        The number of weights; there is an intercept besides.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.LinearRegression(features=2).predict([[1.0, 2.0]])
    array([0.])
    """

    def losses(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """Half the squared errors."""
        return 0.5 * (self.scores(examples) - targets) ** 2

    def predict(self, examples: Any) -> FloatArray:
        """The score of each row."""
        return self.scores(examples)

    def check_targets(self, targets: FloatArray) -> None:
        """Any finite number is allowed."""

    def _slopes(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        return scores - targets


def _sigmoid(scores: FloatArray) -> FloatArray:
    """1 / (1 + e^-score) without overflow."""
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * scores))
    return result


def softmax(scores: FloatArray) -> FloatArray:
    """Of each row: e^score over their sum, without overflow."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: FloatArray = shifted / shifted.sum(axis=1, keepdims=True)
    return result
